"""Send a release to S3-compatible storage: resumable, verified after upload, listed last.

MANIFEST.json goes up last, after every other file was verified there: readers look for it first,
so a push that was cut off is never taken for a release. Each object keeps its SHA-256 as
metadata; a file that is there with the same SHA-256 and size is not sent again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.files import hash_file
from pairs_to_words.releases.checksums import MANIFEST, SUMS
from pairs_to_words.releases.read import Release

_ADDRESS = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/(?P<prefix>.*))?")
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Pushed:
    """What a push did.

    Attributes:
        sent: Files sent now (or, in a dry run, to be sent).
        there: Files that were there already.
    """

    sent: list[str]
    there: list[str]


def connect_s3(endpoint: str | None) -> Any:
    """Return a client for S3 or a compatible endpoint; keys come from AWS's own places."""
    retries: Any = {"mode": "standard", "max_attempts": 5}
    return boto3.client("s3", endpoint_url=endpoint, config=Config(retries=retries))


def push_release(
    client: Any,
    release: Release,
    address: str,
    *,
    dry_run: bool = False,
    done: Callable[[int], object] = lambda _count: None,
) -> Pushed:
    """Send every file of a release below `s3://bucket/prefix`.

    Raises:
        UserError: The address is wrong, or another release is there.
        CouldNotError: The storage refused, or keeps other bytes than were sent.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise UserError(f"{address!r} is no storage address.", "Expected s3://BUCKET/PREFIX.")
    bucket, prefix = match["bucket"], (match["prefix"] or "").strip("/")
    for split in release.splits:
        release.rows(split)  # refuses rows that were removed since
    sent, there = [], []
    names = [*sorted(release.manifest["files"]), SUMS, MANIFEST]
    try:
        _refuse_another(client, release, bucket, _key(prefix, MANIFEST))
        for name in names:
            digest = hash_file(release.path / name)
            key = _key(prefix, name)
            if _is_there(client, bucket, key, digest, (release.path / name).stat().st_size):
                there.append(name)
                continue
            sent.append(name)
            if not dry_run:
                _send(client, release, name, bucket, key, digest)
                done(1)
    except (Boto3Error, BotoCoreError, ClientError, OSError) as error:
        raise CouldNotError(
            f"{address} refused: {error}.", "The same command again continues."
        ) from error
    return Pushed(sent, there)


def _refuse_another(client: Any, release: Release, bucket: str, key: str) -> None:
    head = _head(client, bucket, key)
    if head and head["Metadata"].get("sha256") != hash_file(release.path / MANIFEST):
        raise UserError(
            f"s3://{bucket}/{key} is of another release.", "A release is never overwritten."
        )


def _is_there(client: Any, bucket: str, key: str, digest: str, size: int) -> bool:
    head = _head(client, bucket, key)
    return bool(head and head["Metadata"].get("sha256") == digest and head["ContentLength"] == size)


def _head(client: Any, bucket: str, key: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = client.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
            return None
        raise
    return found


def _send(client: Any, release: Release, name: str, bucket: str, key: str, digest: str) -> None:
    """Upload one file, then read it back and compare."""
    client.upload_file(
        str(release.path / name), bucket, key, ExtraArgs={"Metadata": {"sha256": digest}}
    )
    stored = sha256()
    body = client.get_object(Bucket=bucket, Key=key)["Body"]
    while block := body.read(_BLOCK):
        stored.update(block)
    if stored.hexdigest() != digest:
        client.delete_object(Bucket=bucket, Key=key)
        raise CouldNotError(
            f"s3://{bucket}/{key} came back with other bytes than were sent; it was deleted.",
            "Run the same command again.",
        )


def _key(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name
