"""MTurk's batch results table: one row per assignment, `Input.` and `Answer.` columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from pairs_to_words.project.errors import UserError
from pairs_to_words.qc.imports.finished_work import FinishedWork, clean
from pairs_to_words.qc.imports.submissions import Submission, parse_time, to_judgments
from pairs_to_words.qc.tables import read_table

_NEEDED = ("HITId", "AssignmentId", "WorkerId")


def read_mturk_batch(
    path: Path, task: str, patterns: Sequence[str] = (), statuses: Sequence[str] = ()
) -> FinishedWork:
    """Read a batch results CSV; see `to_judgments` for `patterns` and `statuses`.

    Raises:
        UserError: Not such a table, or a wrong row; the message names file and row.
    """
    frame = read_table(path)
    if missing := [name for name in _NEEDED if name not in frame.columns]:
        raise UserError(
            f"{path}: there is no column {missing[0]!r}.",
            "Expected MTurk's batch results: HITId, AssignmentId, WorkerId and Answer. columns.",
        )
    source = f"import:mturk-batch:{path.name}"
    return to_judgments(_submissions(path, frame), task, source, patterns, statuses)


def _submissions(path: Path, frame: pd.DataFrame) -> Iterator[Submission]:
    for number, row in zip(frame.index, frame.to_dict("records"), strict=True):
        where = f"{path} row {number}"
        cells = {str(name): clean(str(cell)) for name, cell in row.items() if pd.notna(cell)}
        if missing := [name for name in _NEEDED if name not in cells]:
            raise UserError(f"{where}: {missing[0]} is empty.")
        yield Submission(
            where=where,
            hit_id=cells["HITId"],
            assignment_id=cells["AssignmentId"],
            worker_id=cells["WorkerId"],
            status=cells.get("AssignmentStatus", ""),
            submitted_at=parse_time(where, cells.get("SubmitTime", "")),
            work_seconds=_seconds(where, cells),
            answers=_with_prefix(cells, "Answer."),
            shown=_with_prefix(cells, "Input."),
        )


def _with_prefix(cells: dict[str, str], prefix: str) -> dict[str, str]:
    return {name[len(prefix) :]: cell for name, cell in cells.items() if name.startswith(prefix)}


def _seconds(where: str, cells: dict[str, str]) -> float | None:
    text = cells.get("WorkTimeInSeconds")
    if text is not None:
        try:
            return float(text)
        except ValueError:
            raise UserError(f"{where}: WorkTimeInSeconds is {text!r}, no number.") from None
    accepted, submitted = (
        pd.Timestamp(parse_time(where, cells[name])) if name in cells else None
        for name in ("AcceptTime", "SubmitTime")
    )
    if accepted is None or submitted is None:
        return None
    return float((submitted - accepted).total_seconds())
