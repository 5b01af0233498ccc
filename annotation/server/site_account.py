"""The worker's own records: history, earnings and effective hourly pay, messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.pages import render
from pairs_to_words.annotation.server.sessions import worker_session
from pairs_to_words.annotation.server.site_tasks import crowd_of
from pairs_to_words.annotation.server.tables import (
    assignments,
    bonuses,
    hit_types,
    hits,
    messages,
)
from sqlalchemy import Connection, func, select, update
from starlette.requests import Request
from starlette.responses import Response

SHOWN = 200
"""Most rows on one page."""

Row = Mapping[str, Any]


async def history(request: Request) -> Response:
    """What this worker accepted, and what became of it."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    rows = await crowd.read(lambda connection, _now: worked(connection, worker_id))
    return render("history.html", title="History", session=session, rows=rows)


async def earnings(request: Request) -> Response:
    """What this worker earned, and per hour of work."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)
    sums = await crowd.read(lambda connection, _now: earned(connection, crowd, worker_id))
    return render("earnings.html", title="Earnings", session=session, **sums)


async def mailbox(request: Request) -> Response:
    """Messages to this worker; looking at them marks them as read."""
    crowd = crowd_of(request)
    worker_id, session = await worker_session(crowd, request)

    def work(connection: Connection, now: int) -> Sequence[Row]:
        mine = messages.c.worker_id == worker_id
        query = select(messages).where(mine).order_by(messages.c.message_id.desc()).limit(SHOWN)
        rows = [dict(row) for row in connection.execute(query).mappings()]
        connection.execute(
            update(messages).where(mine, messages.c.read_at.is_(None)).values(read_at=now)
        )
        return rows

    rows = await crowd.write(work)
    return render("messages.html", title="Messages", session=session, rows=rows)


def worked(connection: Connection, worker_id: str) -> Sequence[Row]:
    """Return a worker's latest assignments with their task's title and reward."""
    query = (
        select(assignments, hit_types.c.title, hit_types.c.reward_cents)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .where(assignments.c.worker_id == worker_id)
        .order_by(assignments.c.seq.desc())
        .limit(SHOWN)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def earned(connection: Connection, crowd: Crowd, worker_id: str) -> dict[str, Any]:
    """Return a worker's sums by state, bonuses, time spent, and pay per hour of work.

    An hour of work counts from accept to submit, of all submitted assignments; pay is what was
    approved or still waits, with bonuses.
    """
    spent = assignments.c.submitted_at - assignments.c.accepted_at
    query = (
        select(
            assignments.c.state,
            func.count().label("count"),
            func.sum(hit_types.c.reward_cents).label("cents"),
            func.sum(spent).label("milliseconds"),
        )
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .where(assignments.c.worker_id == worker_id)
        .group_by(assignments.c.state)
    )
    by_state = {row["state"]: dict(row) for row in connection.execute(query).mappings()}
    paid = select(func.coalesce(func.sum(bonuses.c.amount_cents), 0))
    bonus = int(connection.execute(paid.where(bonuses.c.worker_id == worker_id)).scalar_one())

    def cents(state: str) -> int:
        return int(by_state.get(state, {}).get("cents") or 0)

    hours = sum(int(row["milliseconds"] or 0) for row in by_state.values()) / 3_600_000
    pay = cents("Approved") + cents("Submitted") + bonus
    return {
        "counts": {state: row["count"] for state, row in by_state.items()},
        "approved": cents("Approved"),
        "waiting": cents("Submitted"),
        "rejected": cents("Rejected"),
        "bonus": bonus,
        "hours": hours,
        "hourly": round(pay / hours) if hours > 0 else None,
    }
