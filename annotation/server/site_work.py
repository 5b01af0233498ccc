"""The worker at work: the work page, drafts, submit, return."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pairs_to_words.annotation.server.body import Fields, read_body, read_fields
from pairs_to_words.annotation.server.frames import frame_response, outer_source
from pairs_to_words.annotation.server.hit_operations import load_question
from pairs_to_words.annotation.server.hit_state import load_hit
from pairs_to_words.annotation.server.pages import render, render_inside, wants_json
from pairs_to_words.annotation.server.questions import parse_question
from pairs_to_words.annotation.server.sessions import check_csrf, worker_session
from pairs_to_words.annotation.server.site_tasks import MOST_FORM, crowd_of, go
from pairs_to_words.annotation.server.tables import drafts
from pairs_to_words.annotation.server.work import (
    Assignment,
    Late,
    Receipt,
    Refused,
    find_assignment,
    give_back,
    keep_late,
    submit,
)
from pairs_to_words.project.clock import iso
from sqlalchemy import Connection, delete, insert, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MOST_ANSWER = 2 << 20
MOST_DRAFT = 2 << 20


async def work_page(request: Request) -> Response:
    """The page around a task: its frame, the time left, the way back."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    assignment, hit, kind, question = await crowd.read(
        lambda connection, _now: _open_work(connection, request, worker_id)
    )
    if assignment["state"] != "Accepted":
        return render("done.html", title="Task", session=session, assignment=assignment, group=kind)
    parsed = parse_question(question)
    return render(
        "work.html",
        title=kind["title"],
        session=session,
        group=kind,
        assignment=assignment,
        now=crowd.now(),
        source=outer_source(
            request, parsed, f"/frame/{assignment['assignment_id']}", hit, assignment
        ),
        height=parsed.frame_height,
    )


async def work_frame(request: Request) -> Response:
    """The task's own page, with the worker's draft."""
    crowd = crowd_of(request)
    worker_id, _session = await worker_session(crowd, request)

    def work(connection: Connection, _now: int) -> tuple[Assignment, str, str]:
        assignment, _hit, _kind, question = _open_work(connection, request, worker_id)
        query = select(drafts.c.content).where(
            drafts.c.assignment_id == assignment["assignment_id"]
        )
        draft: str | None = connection.execute(query).scalar_one_or_none()
        return assignment, question, draft or ""

    assignment, question, draft = await crowd.read(work)
    parsed = parse_question(question)
    return frame_response(request, parsed, assignment["hit_id"], assignment, draft)


async def save_draft(request: Request) -> Response:
    """Keep what a worker has typed so far."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    content = await read_body(request, MOST_DRAFT)
    check_csrf(request, session, [])
    try:
        draft = json.dumps(json.loads(content))
    except (ValueError, RecursionError):
        return JSONResponse({"error": "A draft is JSON."}, 400)

    def work(connection: Connection, now: int) -> None:
        assignment = _own(connection, request, worker_id)
        if assignment["state"] != "Accepted":
            return
        mine = drafts.c.assignment_id == assignment["assignment_id"]
        connection.execute(delete(drafts).where(mine))
        connection.execute(
            insert(drafts).values(
                assignment_id=assignment["assignment_id"], saved_at=now, content=draft
            )
        )

    await crowd.write(work)
    return Response(status_code=204)


async def external_submit(request: Request) -> Response:
    """Take a finished task in, as MTurk's externalSubmit did: durable before it is answered.

    The assignment id is the capability: the form comes from a sandboxed frame or from the
    requester's own site, where our cookie is not sent.
    """
    crowd = crowd_of(request)
    fields = await read_fields(request, MOST_ANSWER)
    posted = next((value for name, value in fields if name == "assignmentId" and value), "")
    assignment_id = posted or request.query_params.get("assignmentId", "")
    try:
        receipt = await _submit(request, assignment_id, fields)
    except Late as error:
        await crowd.write(lambda c, now: keep_late(c, assignment_id, fields, now))
        return _refusal(request, error)
    except Refused as error:
        return _refusal(request, error)
    if wants_json(request):
        return JSONResponse(
            {
                "assignment_id": receipt.assignment_id,
                "status": receipt.state,
                "submitted_at": _iso(receipt.submitted_at),
                "repeated": receipt.repeated,
            }
        )
    return render_inside("submitted.html", title="Submitted", receipt=receipt)


async def _submit(request: Request, assignment_id: str, fields: Fields) -> Receipt:
    crowd = crowd_of(request)
    return await crowd.write(lambda c, now: submit(c, crowd.memory, assignment_id, fields, now))


async def return_work(request: Request) -> Response:
    """Return a task without penalty."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    fields = await read_fields(request, MOST_FORM)
    check_csrf(request, session, fields)
    why = next((value for name, value in fields if name == "reason"), "")
    assignment_id = request.path_params["assignment_id"]
    await crowd.write(lambda c, now: give_back(c, crowd.memory, worker_id, assignment_id, why, now))
    return go("/tasks?words=Returned. Nothing is counted against you.")


def _open_work(
    connection: Connection, request: Request, worker_id: str
) -> tuple[Assignment, dict[str, Any], Mapping[str, Any], str]:
    assignment = _own(connection, request, worker_id)
    hit = load_hit(connection, assignment["hit_id"])
    kind = crowd_of(request).memory.hit_type(connection, hit["hit_type_id"])
    return assignment, hit, kind, load_question(connection, hit["hit_id"])


def _own(connection: Connection, request: Request, worker_id: str) -> Assignment:
    assignment = find_assignment(connection, request.path_params["assignment_id"])
    if assignment is None or assignment["worker_id"] != worker_id:
        raise Refused("There is no such assignment.", 404)
    return assignment


def _refusal(request: Request, error: Refused) -> Response:
    if wants_json(request):
        return JSONResponse({"error": str(error)}, error.status)
    return render_inside("problem.html", error.status, title="Not submitted", words=str(error))


def _iso(milliseconds: int) -> str:
    from datetime import UTC, datetime

    return iso(datetime.fromtimestamp(milliseconds / 1000, UTC))
