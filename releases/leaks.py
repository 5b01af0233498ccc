"""What must not get out: worker ids in any text of a release."""

from __future__ import annotations

import re

import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.rows import Gathered

_TELLING = 8
"""Shorter worker ids (imported data has `61`) occur by chance and identify nobody here."""


def refuse_worker_ids(gathered: Gathered) -> None:
    """Search every text value for the ids of the project's workers.

    Raises:
        UserError: One was found; the message names table, column and row.
    """
    ids = sorted(worker for worker in gathered.worker_ids if len(worker) >= _TELLING)
    if not ids:
        return
    pattern = re.compile("|".join(map(re.escape, ids)))
    for name, table, key in (
        ("texts", gathered.paragraphs, "row_id"),
        ("judgments", gathered.judgments, "item_id"),
        ("attributions", pa.Table.from_pylist(gathered.attributions), "photo_id"),
    ):
        for column in table.schema:
            if not pa.types.is_string(column.type):
                continue
            for number, value in enumerate(table[column.name].to_pylist()):
                if value and pattern.search(value):
                    raise UserError(
                        f"{name}, {key} {table[key][number]}: column {column.name} contains a "
                        f"worker id.",
                        "A release shows pseudonyms only: correct that text.",
                    )
