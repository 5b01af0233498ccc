"""NLVR's published JSON: five or more raters' `evals` of sentences about drawn boxes."""

from __future__ import annotations

from pathlib import Path

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import Item, Judgment
from pairs_to_words.qc.imports.finished_work import (
    FinishedWork,
    clean,
    read_json_lines,
    refuse_repeat,
    require,
    storable,
    worker_name,
)

TASK = "nlvr1-validation"
_EXPECTED = "Expected NLVR's JSON: identifier, sentence, label, evals {rater: label}."


def read_nlvr1(path: Path) -> FinishedWork:
    """Read one NLVR part (`dev.json`, `test.json`).

    An item's cluster is its sentence: the identifier up to the dash.

    Raises:
        UserError: A row is not NLVR's; the message names file, line and key.
    """
    items: list[Item] = []
    judgments: list[Judgment] = []
    seen: dict[str, str] = {}
    source = f"import:nlvr1:{path.name}"
    for where, row in read_json_lines(path):
        item_id = storable(where, require(where, row, "identifier", str, _EXPECTED))
        refuse_repeat(where, item_id, seen)
        shown = {
            "sentence": clean(require(where, row, "sentence", str, _EXPECTED)),
            "label": clean(str(row.get("label", ""))),
        }
        items.append(Item(item_id, TASK, item_id, item_id.rsplit("-", 1)[0], shown))
        evals = require(where, row, "evals", dict, _EXPECTED)
        for position, (rater, label) in enumerate(evals.items()):
            if not isinstance(label, str):
                raise UserError(f"{where}: eval of {rater} is {label!r}, not text.", _EXPECTED)
            judgments.append(
                Judgment(
                    TASK,
                    item_id,
                    "label",
                    worker_name(where, rater),
                    clean(label),
                    position=position,
                    source=source,
                )
            )
    return FinishedWork(TASK, items, judgments)
