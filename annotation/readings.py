"""Read what a submission says about one item: the protocol's fields and the disclosed telemetry.

Pages name their fields `<place>.<field>`: `3.clear_1` is the fourth item's `clear_1`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pairs_to_words.annotation.answers import Unreadable
from pairs_to_words.project.protocol import AnswerField, Task

TELEMETRY = ("seconds", "pastes", "pasted_chars", "keystrokes")
"""What pages measure per item and tell the worker that they measure."""

_SEPARATOR = re.compile(r"[|,]")


@dataclass(frozen=True)
class Reading:
    """One item's answers.

    Attributes:
        values: Field to value; an optional field that was left empty is absent.
        telemetry: Measure to number; what is not a sensible number is absent.
    """

    values: dict[str, str]
    telemetry: dict[str, float]


def read_item(task: Task, fields: Mapping[str, str], place: int) -> Reading:
    """Read the item at a place of a submission.

    Raises:
        Unreadable: A required field is missing or empty, or a label is none of the protocol's.
    """
    values = {}
    for field in task.fields:
        name = f"{place}.{field.name}"
        value = _value(field, name, fields.get(name, ""))
        if value:
            values[field.name] = value
        elif field.required:
            raise Unreadable(f"The required field {name} is missing or empty.")
    telemetry = {}
    for measure in TELEMETRY:
        number = _number(fields.get(f"{place}.{measure}", ""))
        if number is not None:
            telemetry[measure] = number
    return Reading(values, telemetry)


def _value(field: AnswerField, name: str, given: str) -> str:
    if field.kind == "text":
        return given if given.strip() else ""
    if field.kind == "label":
        chosen = [given.strip()] if given.strip() else []
    else:
        chosen = [part.strip() for part in _SEPARATOR.split(given) if part.strip()]
    for label in chosen:
        if label not in field.labels:
            raise Unreadable(
                f"The field {name} is {label[:60]!r}; expected {', '.join(field.labels)}."
            )
    return ",".join(label for label in field.labels if label in chosen)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e7 else None
