"""Submissions with named answers, as crowd platforms export them, turned into judgments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pairs_to_words.project.clock import iso
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import Item, Judgment
from pairs_to_words.qc.imports.finished_work import FinishedWork, clean, storable, worker_name

ITEM = "{item}"
FIELD = "{field}"

# MTurk's tables name zones by letters; these are the ones it uses.
_ZONES = {"UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700", "EST": "-0500",
          "EDT": "-0400"}  # fmt: skip
_TABLE_TIME = re.compile(r"\w{3} (\w{3}) (\d{1,2}) (\d\d:\d\d:\d\d) (\w+) (\d{4})")


@dataclass(frozen=True)
class Submission:
    """One assignment as exported.

    Attributes:
        where: File and row, for messages.
        hit_id, assignment_id, worker_id, status: As exported; status may be empty.
        submitted_at: ISO 8601 UTC, empty when unknown.
        work_seconds: For the whole submission, None when unknown.
        answers: Answer name to what was given; empty answers are absent.
        shown: What the page showed (`Input.` columns).
    """

    where: str
    hit_id: str
    assignment_id: str
    worker_id: str
    status: str
    submitted_at: str
    work_seconds: float | None
    answers: Mapping[str, str]
    shown: Mapping[str, str]


def to_judgments(
    submissions: Iterable[Submission],
    task: str,
    source: str,
    patterns: Sequence[str] = (),
    statuses: Sequence[str] = (),
) -> FinishedWork:
    """Turn submissions into items and judgments, one per answer.

    Args:
        submissions: In order of arrival.
        task: The task that the judgments belong to.
        source: `import:<format>:<file>`.
        patterns: How answer names hold the item, such as `{item}_stance`; the rest of the name is
            the field. Answers that match none are left out. None given: the HIT is the item and
            the answer's name the field.
        statuses: Only submissions with one of these, such as `Approved`; none given means all.

    Raises:
        UserError: A pattern without `{item}`, an assignment twice, or nothing that matches.
    """
    compiled = [_compile(pattern) for pattern in patterns]
    items: dict[str, Item] = {}
    judgments: list[Judgment] = []
    positions: dict[tuple[str, str], int] = {}
    seen: dict[str, str] = {}
    for one in submissions:
        if one.assignment_id in seen:
            raise UserError(
                f"{one.where}: assignment {one.assignment_id} is there twice "
                f"(first: {seen[one.assignment_id]})."
            )
        seen[one.assignment_id] = one.where
        if statuses and one.status not in statuses:
            continue
        named = [
            (*place, value)
            for name, value in one.answers.items()
            for place in [_place(name, one.hit_id, compiled)]
            if place is not None
        ]
        share = len({item for item, _field, _value in named}) or 1
        for item, field, value in named:
            item_id = storable(one.where, item)
            items.setdefault(item_id, Item(item_id, task, item_id, "", dict(one.shown)))
            position = positions.get((item_id, field), 0)
            positions[item_id, field] = position + 1
            judgments.append(
                Judgment(
                    task,
                    item_id,
                    storable(one.where, field, 64),
                    worker_name(one.where, one.worker_id),
                    clean(value),
                    position=position,
                    assignment_id=one.assignment_id,
                    submitted_at=one.submitted_at,
                    work_seconds=None if one.work_seconds is None else one.work_seconds / share,
                    source=source,
                )
            )
    if not judgments:
        raise UserError(
            f"{source.split(':', 2)[2]}: no answer matches.",
            "Check --answers (a pattern such as '{item}_label') and --status.",
        )
    return FinishedWork(task, list(items.values()), judgments)


def parse_time(where: str, text: str) -> str:
    """Return a time as ISO 8601 UTC: `Mon Feb 13 13:31:19 UTC 2017`, ISO, RFC 2822 or empty.

    Raises:
        UserError: None of these.
    """
    text = text.strip()
    if not text:
        return ""
    match = _TABLE_TIME.fullmatch(text)
    if match and match[4] in _ZONES:
        text = f"{match[2]} {match[1]} {match[5]} {match[3]} {_ZONES[match[4]]}"
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(text)
        except (ValueError, TypeError):
            continue
        return iso(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    raise UserError(f"{where}: {text!r} is not a time.", "Expected ISO 8601 or MTurk's format.")


def _compile(pattern: str) -> re.Pattern[str]:
    if ITEM not in pattern:
        raise UserError(
            f"The pattern {pattern!r} has no {ITEM}.", "Write one such as '{item}_label'."
        )
    before, after = pattern.split(ITEM, 1)
    texts = [
        re.escape(part).replace(re.escape(FIELD), "(?P<field>.+?)") for part in (before, after)
    ]
    return re.compile(f"{texts[0]}(?P<item>.+){texts[1]}")


def _place(name: str, hit_id: str, compiled: list[re.Pattern[str]]) -> tuple[str, str] | None:
    """Return (item, field) of an answer, None when it matches no pattern."""
    if not compiled:
        return hit_id, name
    for pattern in compiled:
        if match := pattern.fullmatch(name):
            if "field" in pattern.groupindex:
                return match["item"], match["field"]
            rest = name[: match.start("item")] + name[match.end("item") :]
            return match["item"], rest.strip("_.- ") or "label"
    return None
