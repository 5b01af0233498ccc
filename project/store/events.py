"""The append-only log of what was done to a project."""

from __future__ import annotations

from typing import Any

from pairs_to_words.project.store.tables import events
from sqlalchemy import Connection, select


def log_event(connection: Connection, at: str, kind: str, subject: str = "", **data: Any) -> None:
    """Append one event; `data` must be JSON-able and free of secrets."""
    connection.execute(events.insert().values(at=at, kind=kind, subject=subject, data=data))


def read_events(connection: Connection, limit: int = 50) -> list[dict[str, Any]]:
    """Return the newest events first."""
    query = select(events).order_by(events.c.event_id.desc()).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]
