"""Batches, their HITs and the submissions pulled for them: all SQL of asking people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pairs_to_words.project.store.tables import assignments, batches, hits, workers
from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

PLANNED = "planned"
SENT = "sent"
PUBLISHED = "published"
"""States of a HIT here: written down, being sent (its fate may be unknown), known to be live."""

Row = dict[str, Any]


def add_batch(connection: Connection, batch: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Write a batch and its planned HITs, before anything is sent."""
    connection.execute(batches.insert().values(**batch))
    if rows:
        connection.execute(hits.insert(), list(rows))


def batches_of(connection: Connection, task: str) -> list[Row]:
    """Return a task's batches, oldest first."""
    query = select(batches).where(batches.c.task == task)
    query = query.order_by(batches.c.created_at, batches.c.batch_id)
    return [dict(row) for row in connection.execute(query).mappings()]


def set_hit_type(connection: Connection, batch_id: str, hit_type_id: str) -> None:
    """Remember a batch's HIT type."""
    connection.execute(
        update(batches).where(batches.c.batch_id == batch_id).values(hit_type_id=hit_type_id)
    )


def hits_of(connection: Connection, task: str, states: Sequence[str]) -> list[Row]:
    """Return a task's HITs in some states with their batch's crowd and endpoint."""
    query = (
        select(hits, batches.c.crowd, batches.c.endpoint, batches.c.settings)
        .join(batches, batches.c.batch_id == hits.c.batch_id)
        .where(batches.c.task == task, hits.c.state.in_(states))
        .order_by(hits.c.created_at, hits.c.hit_key)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def items_asked(connection: Connection, task: str) -> set[str]:
    """Return the items of a task that are in any HIT, planned or published."""
    query = (
        select(hits.c.item_ids)
        .join(batches, batches.c.batch_id == hits.c.batch_id)
        .where(batches.c.task == task)
    )
    return {item_id for ids in connection.scalars(query) for item_id in ids}


def hit_sent(connection: Connection, hit_key: str) -> None:
    """Note that a HIT is being sent: from now on it may exist."""
    connection.execute(update(hits).where(hits.c.hit_key == hit_key).values(state=SENT))


def hit_published(connection: Connection, hit_key: str, hit_id: str, at: str) -> None:
    """Note that a HIT is live."""
    connection.execute(
        update(hits)
        .where(hits.c.hit_key == hit_key)
        .values(state=PUBLISHED, hit_id=hit_id, published_at=at)
    )


def add_workers(connection: Connection, rows: Iterable[Row]) -> None:
    """Insert workers who were not seen before."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    if listed := list(rows):
        connection.execute(insert(workers).on_conflict_do_nothing(), listed)


def add_assignment(connection: Connection, row: Row) -> None:
    """Insert a pulled submission."""
    connection.execute(assignments.insert().values(**row))


def assignment_states(connection: Connection, hit_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return hit id -> assignment id -> state of what was pulled."""
    found: dict[str, dict[str, str]] = {hit_id: {} for hit_id in hit_ids}
    query = select(assignments.c.hit_id, assignments.c.assignment_id, assignments.c.state)
    for row in connection.execute(query):
        if row.hit_id in found:
            found[row.hit_id][row.assignment_id] = row.state
    return found


def set_assignment_state(connection: Connection, assignment_id: str, state: str, at: str) -> None:
    """Note what became of a submission."""
    connection.execute(
        update(assignments)
        .where(assignments.c.assignment_id == assignment_id)
        .values(state=state, reviewed_at=at)
    )


def submissions(connection: Connection, task: str, states: Sequence[str]) -> list[Row]:
    """Return a task's pulled submissions in some states, with their batch's settings."""
    query = (
        select(
            assignments,
            hits.c.max_assignments,
            batches.c.batch_id,
            batches.c.crowd,
            batches.c.endpoint,
            batches.c.settings,
        )
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(batches, batches.c.batch_id == hits.c.batch_id)
        .where(batches.c.task == task, assignments.c.state.in_(states))
        .order_by(assignments.c.submitted_at, assignments.c.assignment_id)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def quarantined(connection: Connection, task: str) -> int:
    """Return how many of a task's submissions could not be read."""
    query = (
        select(func.count())
        .select_from(assignments)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(batches, batches.c.batch_id == hits.c.batch_id)
        .where(batches.c.task == task, assignments.c.quarantine != "")
    )
    return int(connection.scalar(query) or 0)
