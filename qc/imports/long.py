"""A long table: one row per judgment, with columns named by the caller."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import Item, Judgment
from pairs_to_words.qc.counts import name_rows
from pairs_to_words.qc.imports.finished_work import FinishedWork, clean, storable, worker_name
from pairs_to_words.qc.tables import read_table


@dataclass(frozen=True)
class LongColumns:
    """Which column of a long table holds what; None where there is no such column.

    `seconds` is the work time of the row's assignment (of the row itself without assignments).
    """

    item: str
    worker: str
    label: str
    cluster: str | None = None
    gold: str | None = None
    assignment: str | None = None
    seconds: str | None = None
    submitted_at: str | None = None


def read_long(path: Path, task: str, columns: LongColumns, field: str = "label") -> FinishedWork:
    """Read one judgment per row, in order of arrival; rows without a label are left out.

    Raises:
        UserError: A named column is missing, or a row lacks item or worker, or its seconds are
            no number; the message names file and row.
    """
    frame = read_table(path)
    named = [name for name in vars(columns).values() if name is not None]
    if unknown := [name for name in named if name not in frame.columns]:
        raise UserError(
            f"{path}: there is no column {unknown[0]!r}.",
            f"Columns: {', '.join(map(str, frame.columns))}.",
        )
    frame = frame[frame[columns.label].notna()]
    empty = frame[[columns.item, columns.worker]].isna().any(axis=1)
    if empty.any():
        raise UserError(f"{path} {name_rows(frame.index[empty])}: item or worker is empty.")
    shares = {} if columns.assignment is None else dict(frame[columns.assignment].value_counts())
    items: dict[str, Item] = {}
    judgments: list[Judgment] = []
    positions: dict[str, int] = {}
    for number, row in zip(frame.index, frame.to_dict("records"), strict=True):
        where = f"{path} row {number}"
        text = {name: None if pd.isna(row[name]) else clean(str(row[name])) for name in named}
        item_id = storable(where, text[columns.item])
        gold = text[columns.gold] if columns.gold else None
        cluster = storable(where, text[columns.cluster]) if columns.cluster else ""
        item = Item(item_id, task, item_id, cluster, {"gold": {field: gold}} if gold else {})
        if items.setdefault(item_id, item) != item:
            raise UserError(f"{where}: item {item_id} has another cluster or gold than before.")
        seconds = _seconds(where, text[columns.seconds]) if columns.seconds else None
        if seconds is not None and columns.assignment and row[columns.assignment] in shares:
            seconds /= int(shares[row[columns.assignment]])
        position = positions.get(item_id, 0)
        positions[item_id] = position + 1
        judgments.append(
            Judgment(
                task,
                item_id,
                field,
                worker_name(where, text[columns.worker]),
                str(text[columns.label]),
                position=position,
                assignment_id=(text[columns.assignment] or "") if columns.assignment else "",
                submitted_at=(text[columns.submitted_at] or "") if columns.submitted_at else "",
                work_seconds=seconds,
                source=f"import:long:{path.name}",
            )
        )
    return FinishedWork(task, list(items.values()), judgments)


def _seconds(where: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{where}: work seconds {text!r} is not a number.") from None
