"""The worker's way to a task: sign in, see what there is, preview, accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from pairs_to_words.annotation.money import from_cents
from pairs_to_words.annotation.server.body import read_fields
from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.frames import frame_response, outer_source
from pairs_to_words.annotation.server.hit_operations import load_question
from pairs_to_words.annotation.server.pages import render, wants_json
from pairs_to_words.annotation.server.questions import parse_question
from pairs_to_words.annotation.server.requirements import is_blocked, load_worker, may
from pairs_to_words.annotation.server.sessions import (
    check_csrf,
    close_session,
    current_session,
    invited_worker,
    open_session,
    set_cookie,
    worker_session,
)
from pairs_to_words.annotation.server.tables import hit_types, hits, qualification_types
from pairs_to_words.annotation.server.work import (
    Assignment,
    Refused,
    accept_from_group,
    accept_hit,
    done_by,
)
from sqlalchemy import Connection, func, select
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

MOST_FORM = 64 << 10


def crowd_of(request: Request) -> Crowd:
    """Return the crowd that this application serves."""
    crowd: Crowd = request.app.state.crowd
    return crowd


def go(path: str) -> RedirectResponse:
    """Send the browser on after a form: reloading the next page repeats nothing."""
    return RedirectResponse(path, 303)


async def home(request: Request) -> Response:
    """The first page: tasks for whoever is signed in, else how to come in."""
    session = await current_session(crowd_of(request), request)
    if session is None:
        return render("welcome.html", title="Welcome")
    return go("/tasks" if session.worker_id else "/requester")


async def invitation(request: Request) -> Response:
    """An invitation link: a button, so that programs that open links sign nobody in."""
    crowd, token = crowd_of(request), request.path_params["token"]
    worker_id = await invited_worker(crowd, token)
    if worker_id is None:
        words = "This invitation is not valid. Ask the person who sent it for a new link."
        return render("problem.html", 404, title="Invitation not valid", words=words)
    if request.method != "POST":
        return render("invitation.html", title="Your invitation", worker_id=worker_id)
    session_token = await open_session(crowd, request, worker_id)
    response = go("/tasks")
    set_cookie(response, request, session_token)
    return response


async def sign_out(request: Request) -> Response:
    """End the session."""
    crowd = crowd_of(request)
    session = await current_session(crowd, request)
    if session is not None:
        check_csrf(request, session, await read_fields(request, MOST_FORM))
        await close_session(crowd, request)
    return go("/")


async def tasks(request: Request) -> Response:
    """The tasks that are open to this worker."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    search = request.query_params.get("q", "")
    found = await crowd.read(lambda connection, _now: open_groups(connection, crowd, worker_id))
    groups = [group for group in found if matches(group, search)]
    if wants_json(request):
        return JSONResponse(
            {
                "worker_id": worker_id,
                "csrf": session.csrf,
                "groups": [_group_json(group) for group in groups],
            }
        )
    return render(
        "tasks.html",
        title="Tasks",
        session=session,
        groups=groups,
        words=request.query_params.get("words", ""),
        search=search,
    )


def open_groups(connection: Connection, crowd: Crowd, worker_id: str) -> list[dict[str, Any]]:
    """Return the groups of HITs that a worker may see, newest first, with what is left of each."""
    worker = load_worker(connection, worker_id)
    if worker is None:
        return []
    query = (
        select(hits.c.hit_type_id, func.count().label("count"))
        .where(hits.c.status == "Assignable")
        .group_by(hits.c.hit_type_id)
    )
    mine = done_by(connection, worker_id)
    groups = []
    for hit_type_id, count in connection.execute(query).all():
        kind = crowd.memory.hit_type(connection, hit_type_id)
        if is_blocked(connection, kind["requester_id"], worker_id):
            continue
        if may(connection, crowd.memory, worker, kind, "Discover"):
            continue
        left = count - mine.get(hit_type_id, 0)
        if left <= 0:
            continue
        unmet = may(connection, crowd.memory, worker, kind, "Accept")
        groups.append(
            {
                **kind,
                "available": left,
                "eligible": not unmet,
                "askable": askable(connection, unmet),
                "previewable": not may(connection, crowd.memory, worker, kind, "Preview"),
            }
        )
    return sorted(groups, key=lambda group: (-group["created_at"], group["hit_type_id"]))


async def accept(request: Request) -> Response:
    """Accept one HIT of a group."""
    crowd = crowd_of(request)
    group_id = request.path_params["group_id"]

    def work(connection: Connection, now: int, worker_id: str) -> Assignment:
        kind = find_group(connection, group_id)
        return accept_from_group(connection, crowd.memory, worker_id, kind, now)

    return await _accept(request, work)


async def accept_one(request: Request) -> Response:
    """Accept one particular HIT."""
    crowd = crowd_of(request)
    hit_id = request.path_params["hit_id"]

    def work(connection: Connection, now: int, worker_id: str) -> Assignment:
        return accept_hit(connection, crowd.memory, worker_id, hit_id, now)

    return await _accept(request, work)


async def _accept(request: Request, work: Any) -> Response:
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    check_csrf(request, session, await read_fields(request, MOST_FORM))
    try:
        assignment = await crowd.write(lambda connection, now: work(connection, now, worker_id))
    except Refused as error:
        if wants_json(request):
            return JSONResponse({"error": str(error)}, error.status)
        return go(f"/tasks?words={quote(str(error))}")
    work_url = f"/work/{assignment['assignment_id']}"
    if not wants_json(request):
        return go(work_url)
    return JSONResponse(
        {
            "assignment_id": assignment["assignment_id"],
            "hit_id": assignment["hit_id"],
            "work_url": work_url,
            "frame_url": f"/frame/{assignment['assignment_id']}",
            "deadline": assignment["deadline_at"],
        }
    )


async def preview(request: Request) -> Response:
    """Show a task before it is accepted."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    kind, hit, question = await crowd.read(
        lambda connection, _now: _preview(connection, crowd, worker_id, request)
    )
    parsed = parse_question(question)
    return render(
        "preview.html",
        title=kind["title"],
        session=session,
        group=kind,
        source=outer_source(request, parsed, f"/preview/{kind['group_id']}/frame", hit, None),
        height=parsed.frame_height,
    )


async def preview_frame(request: Request) -> Response:
    """The task's own page inside the preview."""
    crowd = crowd_of(request)
    worker_id, _session = await worker_session(crowd, request)
    _kind, hit, question = await crowd.read(
        lambda connection, _now: _preview(connection, crowd, worker_id, request)
    )
    return frame_response(request, parse_question(question), hit["hit_id"], None, "")


def _preview(
    connection: Connection, crowd: Crowd, worker_id: str, request: Request
) -> tuple[Mapping[str, Any], Mapping[str, Any], str]:
    kind = find_group(connection, request.path_params["group_id"])
    worker = load_worker(connection, worker_id)
    if worker is None or may(connection, crowd.memory, worker, kind, "Preview"):
        raise Refused("This task needs a qualification that you do not have.", 403)
    query = (
        select(hits)
        .where(hits.c.hit_type_id == kind["hit_type_id"], hits.c.status == "Assignable")
        .order_by(hits.c.seq)
        .limit(1)
    )
    hit = connection.execute(query).mappings().one_or_none()
    if hit is None:
        raise Refused("There are no more tasks of this kind.", 404)
    return kind, dict(hit), load_question(connection, hit["hit_id"])


def find_group(connection: Connection, group_id: str) -> Mapping[str, Any]:
    """Return the HIT type with a group id.

    Raises:
        Refused: There is none.
    """
    query = select(hit_types).where(hit_types.c.group_id == group_id)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise Refused("There is no such task.", 404)
    return dict(row)


def _group_json(group: Mapping[str, Any]) -> dict[str, Any]:
    group_id = group["group_id"]
    return {
        "hit_group_id": group_id,
        "title": group["title"],
        "description": group["description"],
        "reward": from_cents(group["reward_cents"]),
        "available": group["available"],
        "assignment_seconds": group["assignment_seconds"],
        "accept_url": f"/tasks/{group_id}/accept",
        "preview_url": f"/preview/{group_id}",
        "eligible": group["eligible"],
    }


def matches(group: Mapping[str, Any], search: str) -> bool:
    """Say whether every word of a search occurs in a group's title, description or keywords."""
    text = f"{group['title']} {group['description']} {group['keywords']}".lower()
    return all(word in text for word in search.lower().split())


def askable(connection: Connection, unmet: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return id and name of the qualifications among unmet requirements that can be requested."""
    wanted = [requirement["QualificationTypeId"] for requirement in unmet]
    if not wanted:
        return []
    types = qualification_types
    query = select(types.c.qualification_type_id, types.c.name).where(
        types.c.qualification_type_id.in_(wanted),
        types.c.deleted_at.is_(None),
        types.c.status == "Active",
    )
    return [(row[0], row[1]) for row in connection.execute(query)]
