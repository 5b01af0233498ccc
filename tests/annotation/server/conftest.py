"""A really running crowd server with the test's own clock, an ordinary boto3 client, workers."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
import requests
from botocore.config import Config
from botocore.exceptions import ClientError
from pairs_to_words.annotation.server.run import Running, start_server
from pairs_to_words.project.layout import Layout
from sqlalchemy import create_engine, text

POSTGRES = "COLLECT_TEST_POSTGRES"

SCHEMA = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"
)
PAGE = """<!doctype html>
<html lang="en"><head><title>t</title></head><body>
<form method="post" action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" name="assignmentId" value="">
<textarea name="words" aria-label="words"></textarea><button>Send</button></form></body></html>"""
HTML = (
    f'<HTMLQuestion xmlns="{SCHEMA}"><HTMLContent><![CDATA[{PAGE}]]></HTMLContent>'
    "<FrameHeight>0</FrameHeight></HTMLQuestion>"
)


@dataclass
class MovingClock:
    """Real time plus what the test adds: signatures of ordinary clients stay within the skew."""

    ahead: timedelta = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def forward(self, **amount: float) -> None:
        self.ahead += timedelta(**amount)


@dataclass
class Worker:
    """One worker at the site, as a browser without scripts would be."""

    url: str
    session: requests.Session
    worker_id: str
    csrf: str = field(default="", repr=False)

    def tasks(self) -> dict[str, Any]:
        answer = self.session.get(f"{self.url}/tasks", headers={"Accept": "application/json"})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        self.csrf = found["csrf"]
        return found

    def post(self, path: str, **fields: str) -> requests.Response:
        if not self.csrf:
            self.tasks()
        return self.session.post(
            f"{self.url}{path}",
            data={"csrf": self.csrf, **fields},
            headers={"Accept": "application/json"},
            allow_redirects=False,
        )

    def accept(self, hit_id: str) -> str:
        answer = self.post(f"/hits/{hit_id}/accept")
        assert answer.status_code == 200, answer.text
        assignment_id: str = answer.json()["assignment_id"]
        return assignment_id

    def submit(self, assignment_id: str, **fields: str) -> dict[str, Any]:
        answer = self.send(assignment_id, **fields)
        assert answer.status_code == 200, answer.text
        receipt: dict[str, Any] = answer.json()
        return receipt

    def send(self, assignment_id: str, **fields: str) -> requests.Response:
        return requests.post(
            f"{self.url}/mturk/externalSubmit",
            data={"assignmentId": assignment_id, **fields},
            headers={"Accept": "application/json"},
        )

    def do(self, hit_id: str, **fields: str) -> str:
        assignment_id = self.accept(hit_id)
        self.submit(assignment_id, **(fields or {"words": "done"}))
        return assignment_id


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The crowd's database URL; empty is the project's own SQLite file."""
    if request.param == "sqlite":
        yield ""
        return
    url = os.environ.get(POSTGRES)
    if not url:
        pytest.skip(f"no PostgreSQL: {POSTGRES} is not set")
    schema = f"crowd_{uuid.uuid4().hex[:12]}"
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    yield f"{url}?options=-csearch_path%3D{schema}"
    with admin.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    admin.dispose()


@pytest.fixture
def server(project: Layout, clock: MovingClock, database: str) -> Iterator[Running]:
    with start_server(project, clock=clock, database=database) as running:
        yield running


def client_of(server: Running, **options: Any) -> Any:
    """An ordinary boto3 client; without retries, so that each call is one call."""
    return boto3.client(
        "mturk",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id=server.keys.access_key_id,
        aws_secret_access_key=server.keys.secret_access_key,
        config=Config(retries={"total_max_attempts": 1}, **options),
    )


@pytest.fixture
def mturk(server: Running, clock: MovingClock, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A boto3 client whose signing time follows the test's clock."""
    monkeypatch.setattr("botocore.auth.get_current_datetime", clock)
    return client_of(server)


@pytest.fixture
def invite(server: Running) -> Callable[..., list[dict[str, str]]]:
    """Make invitation links: `invite("ann", kind="person")`."""

    def make(*labels: str, kind: str = "person") -> list[dict[str, str]]:
        return invitations(server, *labels, kind=kind)

    return make


def invitations(server: Running, *labels: str, kind: str = "person") -> list[dict[str, str]]:
    answer = requests.post(
        f"{server.url}/admin/invitations",
        json={"kind": kind, "labels": list(labels)},
        headers={"Authorization": f"Bearer {server.keys.admin_token}"},
    )
    assert answer.status_code == 201, answer.text
    made: list[dict[str, str]] = answer.json()["invitations"]
    return made


@pytest.fixture
def new_worker(server: Running) -> Callable[..., Worker]:
    """Make and sign in a worker by label."""

    def make(label: str = "ann", kind: str = "person") -> Worker:
        [made] = invitations(server, label, kind=kind)
        session = requests.Session()
        answer = session.post(made["url"], allow_redirects=False)
        assert answer.status_code == 303
        return Worker(server.url, session, made["worker_id"])

    return make


@pytest.fixture
def new_hit(mturk: Any) -> Callable[..., dict[str, Any]]:
    """Publish a HIT with usual values."""

    def make(**changes: Any) -> dict[str, Any]:
        values = {
            "Title": "Look at birds",
            "Description": "Say what you see.",
            "Reward": "0.40",
            "LifetimeInSeconds": 3600,
            "AssignmentDurationInSeconds": 600,
            "AutoApprovalDelayInSeconds": 86400,
            "MaxAssignments": 1,
            "Question": HTML,
        }
        values |= changes
        hit: dict[str, Any] = mturk.create_hit(
            **{key: value for key, value in values.items() if value is not None}
        )["HIT"]
        return hit

    return make


@pytest.fixture
def question() -> str:
    """A HTMLQuestion with one text field, `words`."""
    return HTML


@pytest.fixture
def refused() -> Callable[..., Any]:
    """Expect a refusal: `with refused("HITDoesNotExist", "Hit X does not exist."): ...`."""

    @contextmanager
    def expect(code: str, message: str = "") -> Iterator[dict[str, Any]]:
        found: dict[str, Any] = {}
        with pytest.raises(ClientError) as caught:
            yield found
        found |= caught.value.response
        given = str(found.get("TurkErrorCode") or found["Error"]["Code"])
        assert given.removeprefix("AWS.MechanicalTurk.") == code, found
        text = re.sub(r" \(\d{13}( s)?\)$", "", found["Error"]["Message"])
        if message:
            assert text == message

    return expect
