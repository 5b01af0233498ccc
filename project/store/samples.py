"""What the state knows about a sample: whether people were already asked about its pairs."""

from __future__ import annotations

from pairs_to_words.project.store.tables import batches
from sqlalchemy import Connection, func, select


def count_batches_of_sample(connection: Connection, sample: str) -> int:
    """Return how many batches were launched from a sample."""
    query = select(func.count()).select_from(batches).where(batches.c.sample == sample)
    return int(connection.scalar(query) or 0)
