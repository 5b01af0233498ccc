"""Speak the MTurk requester protocol to a crowd: any compatible endpoint, ours by default."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import boto3
import requests
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from pairs_to_words.project.config import Config
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.files import read_json
from pairs_to_words.project.layout import Layout

LOCAL = "local"
MTURK = "mturk"
CROWDS = (LOCAL, MTURK)
REGION = "us-east-1"
MOST_RESULTS = 100

KEY_VARIABLES = ("COLLECT_ACCESS_KEY_ID", "COLLECT_SECRET_ACCESS_KEY")

_ALREADY = re.compile(r'"([A-Z0-9]+)" already exists')


class CrowdError(CouldNotError):
    """The crowd refused a call.

    Attributes:
        code: The TurkErrorCode without its prefix, or the error type.
    """

    def __init__(self, what: str, code: str) -> None:
        super().__init__(what)
        self.code = code


@dataclass(frozen=True)
class Crowd:
    """A crowd that can be asked.

    Attributes:
        name: `local` or `mturk`.
        endpoint: Its address; stored with every HIT so that crowds are never crossed.
        photo_base: What stands before `/photos/<sha256>` in pages; empty on our own server.
        client: The boto3 client.
    """

    name: str
    endpoint: str
    photo_base: str
    client: Any

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        """Call one operation by its boto3 name.

        Raises:
            CrowdError: The crowd says no; `code` says why.
            CouldNotError: The crowd does not answer.
        """
        try:
            answer: dict[str, Any] = getattr(self.client, operation)(**params)
            return answer
        except ClientError as error:
            details = error.response["Error"]
            code = str(error.response.get("TurkErrorCode") or details["Code"])
            message = details.get("Message") or str(error)
            raise CrowdError(
                f"{operation}: {message}", code.removeprefix("AWS.MechanicalTurk.")
            ) from None
        except (BotoCoreError, OSError) as error:
            raise CouldNotError(
                f"The crowd at {self.endpoint} does not answer: {error}.",
                "Start it with `collect serve`, then type the same command again.",
            ) from None

    def pages(self, operation: str, key: str, **params: Any) -> Iterator[dict[str, Any]]:
        """Yield every row of a listing, from every page."""
        token: dict[str, Any] = {}
        while True:
            answer = self.call(operation, MaxResults=MOST_RESULTS, **params, **token)
            yield from answer.get(key, [])
            if not answer.get("NextToken") or not answer.get(key):
                return
            token = {"NextToken": answer["NextToken"]}


def existing_id(error: CrowdError) -> str | None:
    """Return the id that a HitAlreadyExists error names: the call had succeeded before."""
    found = _ALREADY.search(error.what) if error.code == "HitAlreadyExists" else None
    return found[1] if found else None


@contextmanager
def open_crowd(layout: Layout, config: Config, name: str, endpoint: str = "") -> Iterator[Crowd]:
    """Open a crowd by name; the local one is started for the block when nobody serves it.

    Raises:
        UserError: No such crowd, no endpoint, or no keys.
        CouldNotError: The endpoint is one of those that Amazon closed.
    """
    endpoint = endpoint or config.crowd.endpoint
    if name not in CROWDS:
        raise UserError(f"There is no crowd {name!r}.", f"Crowds: {', '.join(CROWDS)}.")
    if name == LOCAL and not endpoint:
        with _local(layout) as crowd:
            yield crowd
        return
    if not endpoint:
        raise UserError(
            "The crowd mturk needs an endpoint.",
            "Give `--endpoint-url URL` or set [crowd] endpoint in collect.toml.",
        )
    refuse_closed(endpoint)
    key_id, secret = (os.environ.get(variable, "") for variable in KEY_VARIABLES)
    yield Crowd(name, endpoint, "", _client(endpoint, key_id or None, secret or None))


def refuse_closed(endpoint: str) -> None:
    """Refuse Amazon's own hosts at once: they will not answer again.

    Raises:
        CouldNotError: In one plain sentence.
    """
    host = (urlsplit(endpoint).hostname or "").lower()
    if host.endswith((".amazonaws.com", ".mturk.com")) or host in ("amazonaws.com", "mturk.com"):
        raise CouldNotError(
            f"Amazon closed Mechanical Turk for good on 30 September 2026; {host} is gone.",
            "Use the local crowd (`collect serve`) or another MTurk-compatible endpoint.",
        )


@contextmanager
def _local(layout: Layout) -> Iterator[Crowd]:
    endpoint = served_endpoint(layout)
    if endpoint is None:
        from pairs_to_words.annotation.server.run import start_server

        with start_server(layout) as running:
            yield _local_crowd(layout, running.url)
        return
    yield _local_crowd(layout, endpoint)


def served_endpoint(layout: Layout) -> str | None:
    """Return the address of this project's running server, None when there is none."""
    path = layout.crowd / "endpoint.json"
    if not path.exists():
        return None
    stated = read_json(path)
    try:
        health = requests.get(f"{stated['endpoint']}/healthz", timeout=5).json()
    except (requests.RequestException, ValueError):
        return None
    return str(stated["endpoint"]) if health.get("pid") == stated["pid"] else None


def _local_crowd(layout: Layout, url: str) -> Crowd:
    keys = read_json(layout.secrets / "crowd.json")
    client = _client(url, keys["access_key_id"], keys["secret_access_key"])
    return Crowd(LOCAL, LOCAL, "", client)


def _client(endpoint: str, key_id: str | None, secret: str | None) -> Any:
    try:
        return boto3.client(
            "mturk",
            endpoint_url=endpoint,
            region_name=REGION,
            aws_access_key_id=key_id,
            aws_secret_access_key=secret,
            config=ClientConfig(
                retries={"mode": "standard", "total_max_attempts": 6},
                connect_timeout=5,
                read_timeout=60,
            ),
        )
    except (NoCredentialsError, ValueError) as error:
        raise UserError(
            f"The crowd at {endpoint} cannot be used: {error}.",
            f"Set {' and '.join(KEY_VARIABLES)}.",
        ) from None
