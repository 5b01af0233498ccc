"""The requester's side of the site: invitations, numbers for programs, a page of live progress."""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pairs_to_words.annotation.server.body import read_body, read_fields
from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.frames import origin_of
from pairs_to_words.annotation.server.pages import render
from pairs_to_words.annotation.server.sessions import (
    PERSON,
    SIMULATED,
    NotSignedIn,
    Session,
    current_session,
    invite,
    open_session,
    set_cookie,
)
from pairs_to_words.annotation.server.site_tasks import MOST_FORM, crowd_of, go
from pairs_to_words.annotation.server.tables import (
    assignments,
    hit_types,
    hits,
    requesters,
    workers,
)
from sqlalchemy import Connection, func, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MOST_LABELS = 1000
MOST_JSON = 1 << 20


async def healthz(request: Request) -> Response:
    """Say that this server is up, and which process it is."""
    return JSONResponse({"ok": True, "pid": os.getpid()})


async def create_invitations(request: Request) -> Response:
    """Make invitation links, one per label."""
    crowd = crowd_of(request)
    if not _has_token(crowd, request):
        return _unauthorized()
    try:
        wanted = json.loads(await read_body(request, MOST_JSON))
        kind, labels = wanted["kind"], wanted["labels"]
    except (ValueError, KeyError, TypeError):
        return JSONResponse({"error": 'Expected JSON {"kind": ..., "labels": [...]}.'}, 400)
    if kind not in (PERSON, SIMULATED):
        return JSONResponse({"error": f"kind is {kind!r}; expected person or simulated."}, 400)
    if not isinstance(labels, list) or not 1 <= len(labels) <= MOST_LABELS:
        return JSONResponse({"error": f"labels: expected 1 to {MOST_LABELS} strings."}, 400)
    if not all(isinstance(x, str) and 1 <= len(x) <= 255 for x in labels):
        return JSONResponse({"error": "Each label is a string of 1 to 255 characters."}, 400)

    def work(connection: Connection, now: int) -> list[tuple[str, str]]:
        return [invite(connection, now, kind=kind, label=label) for label in labels]

    made = await crowd.write(work)
    rows = [
        {
            "worker_id": worker_id,
            "label": label,
            "kind": kind,
            "url": f"{origin_of(request)}/invite/{token}",
        }
        for label, (worker_id, token) in zip(labels, made, strict=True)
    ]
    return JSONResponse({"invitations": rows}, 201)


async def status(request: Request) -> Response:
    """Return counts of HITs, assignments and workers, and the account."""
    crowd = crowd_of(request)
    if not _has_token(crowd, request):
        return _unauthorized()
    return JSONResponse(await crowd.read(lambda connection, _now: count_everything(connection)))


def count_everything(connection: Connection) -> dict[str, Any]:
    """Return the crowd's totals by state."""

    def by(column: Any) -> dict[str, int]:
        query = select(column, func.count()).group_by(column)
        return {row[0]: row[1] for row in connection.execute(query)}

    account = connection.execute(select(requesters)).mappings().first()
    return {
        "hits": by(hits.c.status),
        "assignments": by(assignments.c.state),
        "workers": by(workers.c.kind),
        "balance_cents": account["balance_cents"] if account else 0,
        "on_hold_cents": account["hold_cents"] if account else 0,
    }


async def sign_in(request: Request) -> Response:
    """Let the requester in with the admin token."""
    crowd = crowd_of(request)
    if request.method != "POST":
        return render("requester_sign_in.html", title="Requester", wrong=False)
    fields = dict(await read_fields(request, MOST_FORM))
    given = fields.get("token", "").strip()
    if not hmac.compare_digest(given.encode(), crowd.admin_token.encode()):
        return render("requester_sign_in.html", 403, title="Requester", wrong=True)
    response = go("/requester")
    set_cookie(response, request, await open_session(crowd, request, None))
    return response


async def dashboard(request: Request) -> Response:
    """Live progress of everything published."""
    crowd = crowd_of(request)
    try:
        session = await requester_session(crowd, request)
    except NotSignedIn:
        return go("/requester/sign-in")
    totals, groups = await crowd.read(
        lambda connection, _now: (count_everything(connection), progress(connection))
    )
    return render("requester.html", title="Progress", session=session, totals=totals, groups=groups)


async def requester_session(crowd: Crowd, request: Request) -> Session:
    """Return the requester's session.

    Raises:
        NotSignedIn: Nobody is signed in, or a worker is.
    """
    session = await current_session(crowd, request)
    if session is None or session.worker_id is not None:
        raise NotSignedIn
    return session


def progress(connection: Connection) -> Sequence[Mapping[str, Any]]:
    """Return each HIT type with its numbers of HITs and assignments."""
    query = (
        select(
            hit_types.c.hit_type_id,
            hit_types.c.title,
            hit_types.c.reward_cents,
            func.count().label("hits"),
            func.sum(hits.c.max_assignments).label("wanted"),
            func.sum(hits.c.pending).label("pending"),
            func.sum(hits.c.submitted).label("submitted"),
            func.sum(hits.c.approved).label("approved"),
            func.sum(hits.c.rejected).label("rejected"),
        )
        .join(hits, hits.c.hit_type_id == hit_types.c.hit_type_id)
        .where(hits.c.status != "Disposed")
        .group_by(hit_types.c.hit_type_id, hit_types.c.title, hit_types.c.reward_cents)
        .order_by(func.max(hits.c.seq).desc())
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def _has_token(crowd: Crowd, request: Request) -> bool:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    return hmac.compare_digest(given.encode(), crowd.admin_token.encode())


def _unauthorized() -> Response:
    return JSONResponse({"error": "Send the header Authorization: Bearer <admin token>."}, 401)
