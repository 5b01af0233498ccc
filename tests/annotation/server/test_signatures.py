"""Signatures: only requests signed with a key that this server issued, whole and in time."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from pairs_to_words.annotation.server.faults import ServiceError
from pairs_to_words.annotation.server.sigv4 import Request, verify

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEY = "AKIDEXAMPLE"
TARGET = "MTurkRequesterServiceV20170117.GetAccountBalance"


def signed(body: bytes = b"{}", secret: str = SECRET, service: str = "mturk-requester") -> Request:
    """A request signed by botocore itself."""
    headers = {
        "Host": "127.0.0.1:8765",
        "X-Amz-Target": TARGET,
        "Content-Type": "application/x-amz-json-1.1",
        "X-Spaced": "  a   b ",
    }
    request = AWSRequest("POST", "http://127.0.0.1:8765/", headers=headers, data=body)
    SigV4Auth(Credentials(KEY, secret), service, "us-east-1").add_auth(request)
    listed = [(name.lower(), value) for name, value in request.headers.items()]
    return Request("POST", "/", "", listed, body)


def now() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


def secret_of(key_id: str) -> str | None:
    return SECRET if key_id == KEY else None


def changed(request: Request, **changes: Any) -> Request:
    return Request(**{**request.__dict__, **changes})


def with_header(request: Request, name: str, change: Callable[[str], str]) -> Request:
    headers = [(k, change(v) if k == name else v) for k, v in request.headers]
    return changed(request, headers=headers)


def test_botocores_own_signature_is_accepted() -> None:
    assert verify(signed(), secret_of, now()) == KEY


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [
        (lambda r: changed(r, body=b'{"HITId": "3X"}'), "InvalidSignatureException"),
        (lambda r: changed(r, method="PUT"), "InvalidSignatureException"),
        (lambda r: changed(r, path="/other"), "InvalidSignatureException"),
        (lambda r: changed(r, query="a=b"), "InvalidSignatureException"),
        (
            lambda r: with_header(r, "x-amz-target", lambda v: v + "X"),
            "InvalidSignatureException",
        ),
        (lambda r: with_header(r, "host", lambda v: "evil.example"), "InvalidSignatureException"),
        (
            lambda r: with_header(r, "authorization", lambda v: v.replace(KEY, "AKIDOTHER")),
            "UnrecognizedClientException",
        ),
        (
            lambda r: with_header(r, "authorization", lambda v: v[:-4]),
            "IncompleteSignatureException",
        ),
        (
            lambda r: with_header(r, "authorization", lambda v: v.replace("host;", "")),
            "IncompleteSignatureException",
        ),
        (lambda r: with_header(r, "authorization", lambda v: ""), "MissingAuthenticationToken"),
        (lambda r: with_header(r, "x-amz-date", lambda v: "today"), "IncompleteSignature"),
    ],
)
def test_a_request_changed_after_signing_is_refused(
    spoil: Callable[[Request], Request], kind: str
) -> None:
    with pytest.raises(ServiceError) as caught:
        verify(spoil(signed()), secret_of, now())
    assert caught.value.kind.startswith(kind)


def test_a_signature_of_another_secret_or_service_is_refused() -> None:
    for request in (signed(secret="other"), signed(service="sqs")):
        with pytest.raises(ServiceError, match=r"signature|scoped"):
            verify(request, secret_of, now())


@pytest.mark.parametrize(("minutes", "words"), [(6, "expired"), (-6, "not yet current")])
def test_a_clock_more_than_five_minutes_off_is_refused(minutes: int, words: str) -> None:
    request = signed()
    verify(request, secret_of, now() + minutes * 60_000 * 4 // 6)
    with pytest.raises(ServiceError, match=words):
        verify(request, secret_of, now() + minutes * 60_000)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_the_server_answers_unsigned_calls_with_the_services_errors(server: Any) -> None:
    headers = {"X-Amz-Target": TARGET, "Content-Type": "application/x-amz-json-1.1"}
    answer = requests.post(server.url, data="{}", headers=headers)
    assert answer.status_code == 400
    assert answer.json()["__type"] == "MissingAuthenticationTokenException"
    assert answer.headers["x-amzn-RequestId"]
    headers["X-Amz-Target"] = "MTurkRequesterServiceV20170117.Nonsense"
    answer = requests.post(server.url, data="{}", headers=headers)
    assert answer.json()["__type"] == "UnknownOperationException"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("body", ["", "{", "[]", '{"HITId": 5}', '{"HITId": {"a": 1}}', "[" * 9000])
def test_signed_nonsense_is_a_client_error_and_never_a_fault(server: Any, body: str) -> None:
    request = AWSRequest(
        "POST",
        server.url,
        headers={"X-Amz-Target": TARGET.replace("AccountBalance", "HIT")},
        data=body.encode(),
    )
    keys = Credentials(server.keys.access_key_id, server.keys.secret_access_key)
    SigV4Auth(keys, "mturk-requester", "us-east-1").add_auth(request)
    answer = requests.post(server.url, data=body.encode(), headers=dict(request.headers))
    assert answer.status_code == 400
    assert json.loads(answer.text)["__type"] in ("SerializationException", "ValidationException")
