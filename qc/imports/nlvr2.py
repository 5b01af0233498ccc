"""NLVR2's published JSON: original and later validations of sentences about photo pairs.

Suhr et al. 2019, section 3: each example was validated once when it was collected (`validation`)
and, in the development and test parts, by four more workers later (`extra_validations`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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

TASK = "validation"
PHASES = (("validation", "original"), ("extra_validations", "later"))
_EXPECTED = "Expected NLVR2's JSON: identifier, sentence, label, validation {worker: label}."
_SHOWN = ("label", "writer", "synset", "query", "left_url", "right_url")


def read_nlvr2(path: Path) -> FinishedWork:
    """Read one NLVR2 part (`dev.json`, `test1.json`, `train.json`).

    An item's cluster is its identifier with the pair id blanked: examples of one sentence from
    one image set are not independent.

    Raises:
        UserError: A row is not NLVR2's; the message names file, line and key.
    """
    items: list[Item] = []
    judgments: list[Judgment] = []
    seen: dict[str, str] = {}
    for where, row in read_json_lines(path):
        item_id = storable(where, require(where, row, "identifier", str, _EXPECTED))
        refuse_repeat(where, item_id, seen)
        shown = {key: clean(str(row[key])) for key in _SHOWN if key in row}
        shown["sentence"] = clean(require(where, row, "sentence", str, _EXPECTED))
        items.append(Item(item_id, TASK, item_id, consistency_group(where, item_id), shown))
        judgments += _validations(where, row, item_id, f"import:nlvr2:{path.name}")
    return FinishedWork(TASK, items, judgments)


def consistency_group(where: str, identifier: str) -> str:
    """Return `dev-850--0` for `dev-850-2-0`: split, image set, (any pair), sentence.

    Raises:
        UserError: Not four parts.
    """
    parts = identifier.split("-")
    if len(parts) != 4:
        raise UserError(
            f"{where}: identifier {identifier!r} is not split-set-pair-sentence.", _EXPECTED
        )
    return f"{parts[0]}-{parts[1]}--{parts[3]}"


def _validations(where: str, row: dict[str, Any], item_id: str, source: str) -> list[Judgment]:
    require(where, row, "validation", dict, _EXPECTED)
    found: list[Judgment] = []
    for key, phase in PHASES:
        given = row.get(key, {})
        if not isinstance(given, dict):
            raise UserError(f"{where}: {key!r} is {type(given).__name__}.", _EXPECTED)
        for worker, label in given.items():
            if not isinstance(label, str):
                raise UserError(
                    f"{where}: {key} of worker {worker} is {label!r}, not text.", _EXPECTED
                )
            found.append(
                Judgment(
                    TASK,
                    item_id,
                    "label",
                    worker_name(where, worker),
                    clean(label),
                    position=len(found),
                    phase=phase,
                    source=source,
                )
            )
    return found
