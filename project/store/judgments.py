"""Items, judgments and verdicts: the rows in which crowd, quality control and releases meet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pandas as pd
from pairs_to_words.project.records import Item, Judgment, Verdict
from pairs_to_words.project.store.tables import items, judgments, verdicts
from sqlalchemy import Connection, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

_CHUNK = 500  # rows per INSERT: below SQLite's limit of 32,766 bound variables


def add_items(connection: Connection, rows: Iterable[Item]) -> int:
    """Insert items that are not there yet; return how many were new."""
    return _insert_new(connection, items, [asdict(row) for row in rows])


def add_judgments(connection: Connection, rows: Iterable[Judgment]) -> int:
    """Insert judgments that are not there yet; return how many were new.

    The same judgment (task, item, field, worker, assignment, source, phase, position) is stored
    once, so pulling or importing again adds nothing.
    """
    return _insert_new(connection, judgments, [asdict(row) for row in rows])


def put_verdicts(connection: Connection, rows: Iterable[Verdict], decided_at: str) -> None:
    """Store verdicts, replacing earlier ones about the same items."""
    rows = list(rows)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        for row in chunk:
            connection.execute(
                delete(verdicts).where(
                    verdicts.c.task == row.task, verdicts.c.item_id == row.item_id
                )
            )
        connection.execute(
            verdicts.insert(), [asdict(row) | {"decided_at": decided_at} for row in chunk]
        )


def read_items(connection: Connection, task: str) -> list[Item]:
    """Return the items of a task, by item id."""
    query = select(items).where(items.c.task == task).order_by(items.c.item_id)
    return [Item(**row) for row in connection.execute(query).mappings()]


def read_judgments(connection: Connection, task: str | None = None) -> pd.DataFrame:
    """Return judgments (of one task, or all) in order of arrival, one column per record field.

    Order: position, then time, then insertion: `per_worker` keeps the last one.
    """
    query = select(judgments).order_by(
        judgments.c.task,
        judgments.c.item_id,
        judgments.c.field,
        judgments.c.position,
        judgments.c.submitted_at,
        judgments.c.judgment_id,
    )
    if task is not None:
        query = query.where(judgments.c.task == task)
    result = connection.execute(query)
    return pd.DataFrame(result.fetchall(), columns=list(result.keys()))


def read_verdicts(connection: Connection, task: str) -> dict[str, Verdict]:
    """Return item id -> verdict of a task."""
    columns = [c for c in verdicts.c if c.name != "decided_at"]
    query = select(*columns).where(verdicts.c.task == task)
    rows = connection.execute(query).mappings()
    return {row["item_id"]: Verdict(**row) for row in rows}


def judged_tasks(connection: Connection) -> list[str]:
    """Return the tasks that have judgments, in alphabetical order."""
    return list(connection.scalars(select(judgments.c.task).distinct().order_by(judgments.c.task)))


def count_judgments(connection: Connection) -> dict[str, int]:
    """Return task -> number of judgments."""
    query = select(judgments.c.task, func.count()).group_by(judgments.c.task)
    return {row[0]: row[1] for row in connection.execute(query)}


def _insert_new(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> int:
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    before = connection.scalar(select(func.count()).select_from(table)) or 0
    for start in range(0, len(rows), _CHUNK):
        statement = insert(table).on_conflict_do_nothing()
        connection.execute(statement, rows[start : start + _CHUNK])
    after = connection.scalar(select(func.count()).select_from(table)) or 0
    return after - before
