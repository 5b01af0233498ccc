"""Label Studio's JSON export: tasks with annotations, each with results per control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_json
from pairs_to_words.project.records import Item, Judgment
from pairs_to_words.qc.imports.finished_work import (
    FinishedWork,
    clean,
    require,
    storable,
    worker_name,
)
from pairs_to_words.qc.imports.submissions import parse_time

_EXPECTED = "Expected Label Studio's JSON export: a list of tasks with `annotations`."
_VALUES = {"choices": "choices", "textarea": "text", "rating": "rating", "number": "number"}
"""Control type to the key of its value; regions of images and audio are not judgments here."""


def read_label_studio(path: Path, task: str) -> FinishedWork:
    """Read an export; cancelled annotations are left out, ground truth becomes gold labels.

    A task that an export with overlap lists more than once is one item, and an annotation with
    the same id is one submission.

    Raises:
        UserError: Not such an export; the message names file and task.
    """
    exported = read_json(path)
    if not isinstance(exported, list):
        raise UserError(f"{path}: a JSON {type(exported).__name__}.", _EXPECTED)
    items: dict[str, Item] = {}
    judgments: list[Judgment] = []
    positions: dict[tuple[str, str], int] = {}
    seen: set[str] = set()
    for number, row in enumerate(exported, start=1):
        where = f"{path} task {number}"
        if not isinstance(row, dict):
            raise UserError(f"{where}: a JSON {type(row).__name__}.", _EXPECTED)
        item_id = storable(where, require(where, row, "id", int | str, _EXPECTED))  # type: ignore[arg-type]
        shown = {str(k): clean(str(v)) for k, v in (row.get("data") or {}).items()}
        item = items.setdefault(item_id, Item(item_id, task, item_id, "", dict(shown)))
        for annotation in require(where, row, "annotations", list, _EXPECTED):
            assignment = str(annotation.get("id", f"{item_id}-{len(seen)}"))
            if annotation.get("was_cancelled") or assignment in seen:
                continue
            seen.add(assignment)
            answers = _answers(where, annotation)
            if annotation.get("ground_truth"):
                item.data.setdefault("gold", {}).update(answers)
                continue
            for field, value in answers.items():
                position = positions.get((item_id, field), 0)
                positions[item_id, field] = position + 1
                judgments.append(
                    Judgment(
                        task,
                        item_id,
                        storable(where, field, 64),
                        _worker(where, annotation.get("completed_by")),
                        value,
                        position=position,
                        assignment_id=assignment,
                        submitted_at=parse_time(where, str(annotation.get("created_at") or "")),
                        work_seconds=annotation.get("lead_time"),
                        source=f"import:label-studio:{path.name}",
                    )
                )
    if not judgments:
        raise UserError(f"{path}: no annotation with choices, text or numbers in it.", _EXPECTED)
    return FinishedWork(task, list(items.values()), judgments)


def _answers(where: str, annotation: dict[str, Any]) -> dict[str, str]:
    """Return control name -> value; several choices are joined in sorted order by `|`."""
    found: dict[str, str] = {}
    for result in annotation.get("result") or []:
        key = _VALUES.get(str(result.get("type")))
        if key is None:
            continue
        value = (result.get("value") or {}).get(key)
        if value is None:
            raise UserError(f"{where}: a {result['type']} result without {key!r}.", _EXPECTED)
        values = sorted(map(str, value)) if key == "choices" else value
        text = "|".join(values) if key == "choices" else _text(values)
        found[str(result.get("from_name") or "label")] = clean(text)
    return found


def _text(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _worker(where: str, value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("id", value.get("email"))
    if value in (None, ""):
        raise UserError(f"{where}: an annotation without `completed_by`.", _EXPECTED)
    return worker_name(where, value)
