"""What became of submissions, as other stages than the crowd need to know it."""

from __future__ import annotations

from pairs_to_words.project.store.tables import assignments
from sqlalchemy import Connection, select

REJECTED = "Rejected"


def rejected_assignments(connection: Connection) -> list[str]:
    """Return the ids of rejected assignments."""
    query = select(assignments.c.assignment_id).where(assignments.c.state == REJECTED)
    return sorted(connection.scalars(query))
