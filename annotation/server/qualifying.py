"""How workers come by qualifications: request, take the test, be graded, be granted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pairs_to_words.annotation.server.answers import answers_xml
from pairs_to_words.annotation.server.ids import new_id
from pairs_to_words.annotation.server.memory import Memory
from pairs_to_words.annotation.server.question_form import grade
from pairs_to_words.annotation.server.tables import (
    qualification_requests,
    qualification_types,
    qualifications,
)
from pairs_to_words.annotation.server.work import Refused
from sqlalchemy import Connection, insert, select, update


def grant(
    connection: Connection, type_id: str, worker_id: str, value: int | None, now: int
) -> None:
    """Give a worker a qualification, or change the score of the one the worker has."""
    changed = connection.execute(
        update(qualifications)
        .where(
            qualifications.c.qualification_type_id == type_id,
            qualifications.c.worker_id == worker_id,
        )
        .values(value=value, status="Granted", reason="", granted_at=now)
    )
    if changed.rowcount == 0:
        connection.execute(
            insert(qualifications).values(
                qualification_type_id=type_id,
                worker_id=worker_id,
                value=value,
                status="Granted",
                reason="",
                granted_at=now,
            )
        )


def request_qualification(
    connection: Connection, memory: Memory, worker_id: str, type_id: str, now: int
) -> dict[str, Any]:
    """Ask for a qualification: granted at once, a test to take, or a request that waits.

    Returns:
        The request's row; its `state` is Granted, Testing or Pending.

    Raises:
        Refused: No such type, or it cannot be asked for (again) now.
    """
    kind = find_requestable(connection, type_id)
    for earlier in _requests(connection, worker_id, type_id):
        if earlier["state"] in ("Testing", "Pending"):
            return dict(earlier)
        _check_retry(kind, earlier, now)
    request: dict[str, Any] = {
        "request_id": new_id(),
        "qualification_type_id": type_id,
        "worker_id": worker_id,
        "state": "Pending",
        "started_at": now,
        "deadline_at": None,
        "submitted_at": now,
        "reason": "",
    }
    if kind["auto_granted"]:
        request |= {"state": "Granted", "value": kind["auto_granted_value"]}
        grant(connection, type_id, worker_id, kind["auto_granted_value"], now)
    elif kind["test"] is not None:
        deadline = now + kind["test_seconds"] * 1000
        request |= {"state": "Testing", "deadline_at": deadline, "submitted_at": None}
        memory.note(deadline)
    connection.execute(insert(qualification_requests).values(**request))
    return request


def submit_test(
    connection: Connection,
    request_id: str,
    fields: Sequence[tuple[str, str]],
    now: int,
) -> dict[str, Any]:
    """Hand a test in; with an answer key it is graded and granted at once.

    The answers are kept in both cases.

    Raises:
        Refused: There is no such test, or its time is over.
    """
    query = select(qualification_requests).where(qualification_requests.c.request_id == request_id)
    request = connection.execute(query).mappings().one_or_none()
    if request is None:
        raise Refused("There is no such test.", 404)
    if request["state"] == "Expired":
        raise Refused("The time for this test is over.")
    if request["state"] != "Testing":
        return dict(request)
    kind = find_requestable(connection, request["qualification_type_id"])
    changes: dict[str, Any] = {
        "state": "Pending",
        "submitted_at": now,
        "answer": answers_xml(fields),
    }
    if kind["answer_key"] is not None:
        value = grade(kind["answer_key"], fields)
        changes |= {"state": "Granted", "value": value}
        grant(connection, kind["qualification_type_id"], request["worker_id"], value, now)
    connection.execute(
        update(qualification_requests)
        .where(qualification_requests.c.seq == request["seq"])
        .values(**changes)
    )
    return dict(request) | changes


def find_test(
    connection: Connection, worker_id: str, request_id: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return a worker's own request and its qualification type.

    Raises:
        Refused: There is none.
    """
    query = select(qualification_requests).where(
        qualification_requests.c.request_id == request_id,
        qualification_requests.c.worker_id == worker_id,
    )
    request = connection.execute(query).mappings().one_or_none()
    if request is None:
        raise Refused("There is no such test.", 404)
    return dict(request), find_requestable(connection, request["qualification_type_id"])


def find_requestable(connection: Connection, type_id: str) -> Mapping[str, Any]:
    """Return an active qualification type.

    Raises:
        Refused: There is none.
    """
    query = select(qualification_types).where(
        qualification_types.c.qualification_type_id == type_id,
        qualification_types.c.deleted_at.is_(None),
        qualification_types.c.status == "Active",
    )
    kind = connection.execute(query).mappings().one_or_none()
    if kind is None:
        raise Refused("This qualification cannot be requested.", 404)
    return dict(kind)


def _requests(connection: Connection, worker_id: str, type_id: str) -> Sequence[Mapping[str, Any]]:
    query = (
        select(qualification_requests)
        .where(
            qualification_requests.c.worker_id == worker_id,
            qualification_requests.c.qualification_type_id == type_id,
        )
        .order_by(qualification_requests.c.seq.desc())
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def _check_retry(kind: Mapping[str, Any], earlier: Mapping[str, Any], now: int) -> None:
    delay = kind["retry_delay_seconds"]
    if delay is None:
        raise Refused("This qualification can be requested only once.")
    ready = earlier["started_at"] + delay * 1000
    if now < ready:
        minutes = -(-(ready - now) // 60_000)
        raise Refused(f"You can try again in {minutes} minutes.")
