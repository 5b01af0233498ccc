"""What time alone does: deadlines pass, HITs expire, submitted work is approved by itself."""

from __future__ import annotations

from typing import Any

from pairs_to_words.annotation.server.hit_state import load_hit, save_hit
from pairs_to_words.annotation.server.memory import FAR_FUTURE, Memory
from pairs_to_words.annotation.server.notifications import notify
from pairs_to_words.annotation.server.review import pay
from pairs_to_words.annotation.server.tables import assignments, hits, qualification_requests
from pairs_to_words.annotation.server.work import abandon
from sqlalchemy import Connection, Select, func, select, update

DISPOSE_MS = 120 * 86_400_000
"""HITs are disposed of by themselves after 120 days."""

AT_ONCE = 500
"""Most rows of one kind that one run settles, so that submits do not wait behind a long run."""


def settle(connection: Connection, memory: Memory, now: int) -> None:
    """Do everything that fell due at or before `now`, and remember what is due next."""
    _abandon_late(connection, memory, now)
    _approve_waiting(connection, memory, now)
    _expire(connection, memory, now)
    _end_tests(connection, now)
    _dispose_old(connection, memory, now)
    memory.due = FAR_FUTURE
    for moment in next_due(connection):
        memory.note(moment)


def next_due(connection: Connection) -> list[int]:
    """Return the earliest moment of each kind that is still to come or was left over."""
    queries: list[Select[Any]] = [
        select(func.min(assignments.c.deadline_at)).where(assignments.c.state == "Accepted"),
        select(func.min(assignments.c.auto_approval_at)).where(assignments.c.state == "Submitted"),
        select(func.min(hits.c.expires_at)).where(hits.c.expiry_seen.is_(False)),
        select(func.min(hits.c.created_at) + DISPOSE_MS).where(
            hits.c.status.in_(("Reviewable", "Reviewing"))
        ),
        select(func.min(qualification_requests.c.deadline_at)).where(
            qualification_requests.c.state == "Testing"
        ),
    ]
    found = [connection.execute(query).scalar_one() for query in queries]
    return [moment for moment in found if moment is not None]


def _abandon_late(connection: Connection, memory: Memory, now: int) -> None:
    query = select(assignments).where(
        assignments.c.state == "Accepted", assignments.c.deadline_at <= now
    )
    for row in connection.execute(query.limit(AT_ONCE)).mappings().all():
        abandon(connection, memory, dict(row), now)


def _approve_waiting(connection: Connection, memory: Memory, now: int) -> None:
    query = select(assignments).where(
        assignments.c.state == "Submitted", assignments.c.auto_approval_at <= now
    )
    for row in connection.execute(query.limit(AT_ONCE)).mappings().all():
        hit = load_hit(connection, row["hit_id"])
        pay(connection, memory, hit, dict(row), now, None)


def _expire(connection: Connection, memory: Memory, now: int) -> None:
    query = select(hits).where(hits.c.expiry_seen.is_(False), hits.c.expires_at <= now)
    for row in connection.execute(query.limit(AT_ONCE)).mappings().all():
        hit = dict(row)
        save_hit(connection, memory, hit, now, expiry_seen=True)
        if hit["status"] != "Disposed":
            notify(connection, "HITExpired", now, hit)


def _end_tests(connection: Connection, now: int) -> None:
    connection.execute(
        update(qualification_requests)
        .where(
            qualification_requests.c.state == "Testing", qualification_requests.c.deadline_at <= now
        )
        .values(state="Expired")
    )


def _dispose_old(connection: Connection, memory: Memory, now: int) -> None:
    query = select(hits).where(
        hits.c.status.in_(("Reviewable", "Reviewing")),
        hits.c.created_at <= now - DISPOSE_MS,
    )
    for row in connection.execute(query.limit(AT_ONCE)).mappings().all():
        hit = dict(row)
        save_hit(connection, memory, hit, now, disposed_at=now)
        notify(connection, "HITDisposed", now, hit)
