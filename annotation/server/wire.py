"""The requester protocol on the wire: one signed JSON POST in, one JSON body out."""

from __future__ import annotations

import json
import logging
import uuid
from typing import Any

from pairs_to_words.annotation.server.body import TooLarge, read_body
from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.faults import ServiceError, ServiceFault
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.operations import OPERATIONS
from pairs_to_words.annotation.server.service_model import (
    TARGET_PREFIX,
    check_input,
    operation_model,
    shape_output,
)
from pairs_to_words.annotation.server.sigv4 import Request as SignedRequest
from pairs_to_words.annotation.server.sigv4 import verify
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

CONTENT_TYPE = "application/x-amz-json-1.1"
MOST_BYTES = 4 << 20
"""Of a request: a Question of 64 KiB grows sixfold at worst when JSON escapes it."""

_log = logging.getLogger(__name__)


async def answer(crowd: Crowd, request: Request) -> Response:
    """Serve one call of the requester protocol."""
    try:
        name, body, requester_id = await _open(crowd, request)
        return _respond(200, await _run(crowd, name, body, requester_id))
    except ServiceError as error:
        return _respond(error.status, error.body(crowd.now()))
    except TooLarge:
        words = "Request is too large."
        return _respond(413, {"__type": "RequestEntityTooLargeException", "message": words})
    except Exception:
        _log.exception("a call of the requester protocol failed")
        fault = ServiceFault("The service could not complete the call. Try again.")
        return _respond(fault.status, fault.body(crowd.now()))


async def _open(crowd: Crowd, request: Request) -> tuple[str, bytes, str]:
    """Return operation name, body and requester of a call whose signature is right."""
    body = await read_body(request, MOST_BYTES)
    target = request.headers.get("x-amz-target", "")
    prefix, _, name = target.rpartition(".")
    if prefix != TARGET_PREFIX:
        raise ServiceError("UnknownOperationException", "")
    operation_model(name)
    signed = SignedRequest(
        method=request.method,
        path=request.scope["raw_path"].decode("latin-1"),
        query=request.scope["query_string"].decode("latin-1"),
        headers=[(k.decode("latin-1"), v.decode("latin-1")) for k, v in request.headers.raw],
        body=body,
    )
    credential = signed.header("authorization").partition("Credential=")[2]
    found = await crowd.key(credential.partition("/")[0])
    verify(signed, lambda _key_id: found[0] if found else None, crowd.now())
    assert found is not None
    return name, body, found[1]


async def _run(crowd: Crowd, name: str, body: bytes, requester_id: str) -> dict[str, Any]:
    try:
        parsed = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise ServiceError("SerializationException", "The request is not valid JSON.") from None
    params = check_input(name, parsed)
    operation = OPERATIONS[name]

    def work(connection: Connection, now: int) -> dict[str, Any]:
        call = Call(connection, crowd.memory, requester_id, now, params)
        return shape_output(name, operation.run(call))

    return await (crowd.write(work) if operation.writes else crowd.read(work))


def _respond(status: int, body: dict[str, Any]) -> Response:
    content = json.dumps(body, ensure_ascii=True)
    headers = {"x-amzn-RequestId": str(uuid.uuid4())}
    return Response(content, status, headers, CONTENT_TYPE)
