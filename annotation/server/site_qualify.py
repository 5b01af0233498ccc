"""The worker's way to a qualification: see it, ask for it, take its test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairs_to_words.annotation.server.body import read_fields
from pairs_to_words.annotation.server.form_page import form_html
from pairs_to_words.annotation.server.frames import frame_page
from pairs_to_words.annotation.server.pages import FRAME_SANDBOX, render, render_inside
from pairs_to_words.annotation.server.qualifying import (
    find_requestable,
    find_test,
    request_qualification,
    submit_test,
)
from pairs_to_words.annotation.server.sessions import check_csrf, worker_session
from pairs_to_words.annotation.server.site_tasks import MOST_FORM, crowd_of, go
from pairs_to_words.annotation.server.site_work import MOST_ANSWER
from pairs_to_words.annotation.server.tables import (
    qualification_requests,
    qualification_types,
    qualifications,
)
from sqlalchemy import Connection, select
from starlette.requests import Request
from starlette.responses import Response


async def listing(request: Request) -> Response:
    """The qualifications that can be asked for, and those this worker has."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    rows = await crowd.read(lambda connection, _now: _listed(connection, worker_id))
    return render("qualifications.html", title="Qualifications", session=session, rows=rows)


async def one(request: Request) -> Response:
    """One qualification: what it is, and what this worker can do about it."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    type_id = request.path_params["type_id"]

    def work(connection: Connection, _now: int) -> tuple[Mapping[str, Any], Any, Any]:
        kind = find_requestable(connection, type_id)
        mine = next((r for r in _listed(connection, worker_id) if r["type_id"] == type_id), None)
        query = (
            select(qualification_requests)
            .where(
                qualification_requests.c.worker_id == worker_id,
                qualification_requests.c.qualification_type_id == type_id,
            )
            .order_by(qualification_requests.c.seq.desc())
            .limit(1)
        )
        return kind, mine, connection.execute(query).mappings().first()

    kind, mine, latest = await crowd.read(work)
    return render(
        "qualification.html",
        title=kind["name"],
        session=session,
        kind=kind,
        mine=mine,
        latest=latest,
    )


async def ask(request: Request) -> Response:
    """Ask for a qualification; with a test, begin it."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    check_csrf(request, session, await read_fields(request, MOST_FORM))
    type_id = request.path_params["type_id"]
    made = await crowd.write(
        lambda c, now: request_qualification(c, crowd.memory, worker_id, type_id, now)
    )
    if made["state"] == "Testing":
        return go(f"/tests/{made['request_id']}")
    return go(f"/qualifications/{type_id}")


async def test_page(request: Request) -> Response:
    """The page around a test: its frame and the time left."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    request_id = request.path_params["request_id"]
    found, kind = await crowd.read(lambda c, _now: find_test(c, worker_id, request_id))
    if found["state"] != "Testing":
        return go(f"/qualifications/{kind['qualification_type_id']}")
    return render(
        "test.html",
        title=kind["name"],
        session=session,
        test=found,
        now=crowd.now(),
        sandbox=FRAME_SANDBOX,
    )


async def test_frame(request: Request) -> Response:
    """The test's questions."""
    crowd = crowd_of(request)
    worker_id, _session = await worker_session(crowd, request)
    request_id = request.path_params["request_id"]
    found, kind = await crowd.read(lambda c, _now: find_test(c, worker_id, request_id))
    action = f"/tests/{found['request_id']}"
    return frame_page(form_html(kind["test"], preview=False, action=action, words="Hand in"))


async def hand_in(request: Request) -> Response:
    """Hand a test in.

    The form comes from a sandboxed frame, where our cookie is not sent: the unguessable id of the
    request names the worker.
    """
    crowd = crowd_of(request)
    fields = await read_fields(request, MOST_ANSWER)
    request_id = request.path_params["request_id"]
    result = await crowd.write(lambda c, now: submit_test(c, request_id, fields, now))
    return render_inside("test_result.html", title="Handed in", result=result)


def _listed(connection: Connection, worker_id: str) -> list[dict[str, Any]]:
    types, mine = qualification_types, qualifications
    query = (
        select(
            types.c.qualification_type_id.label("type_id"),
            types.c.name,
            types.c.description,
            types.c.test_seconds,
            mine.c.value,
            mine.c.status,
        )
        .outerjoin(
            mine,
            (mine.c.qualification_type_id == types.c.qualification_type_id)
            & (mine.c.worker_id == worker_id),
        )
        .where(types.c.deleted_at.is_(None), types.c.status == "Active")
        .order_by(types.c.seq)
    )
    return [dict(row) for row in connection.execute(query).mappings()]
