"""What every import reader returns, how it is stored, and how a reader names a wrong row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import Item, Judgment
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.events import log_event
from pairs_to_words.project.store.judgments import add_items, add_judgments, read_judgments
from sqlalchemy import Engine

_LONGEST_NAME = 255  # items.item_id, items.cluster
_LONGEST_WORKER = 64  # judgments.worker_id


@dataclass(frozen=True)
class FinishedWork:
    """The content of one file of finished crowd work.

    Attributes:
        task: The task that items and judgments belong to.
        items: What was judged.
        judgments: What was said, in order of arrival.
    """

    task: str
    items: list[Item]
    judgments: list[Judgment]


def import_work(engine: Engine, work: FinishedWork, clock: Clock) -> dict[str, int]:
    """Store items and judgments that are not there yet; importing a file twice adds nothing.

    Returns:
        Counts `items`, `judgments`, `workers`, `new_items` and `new_judgments`.

    Raises:
        UserError: A judgment is stored already with a different value: the file has changed.
    """
    with transaction(engine) as connection:
        present = read_judgments(connection, work.task)
        columns = ["item_id", "field", "worker_id", "assignment_id", "source", "phase", "position"]
        known = dict(
            zip(present[columns].itertuples(index=False, name=None), present["value"], strict=True)
        )
        for row in work.judgments:
            before = known.get(tuple(getattr(row, column) for column in columns), row.value)
            if before != row.value:
                raise UserError(
                    f"{row.source}: item {row.item_id}, worker {row.worker_id}: "
                    f"{row.value!r} here, {before!r} when it was imported before.",
                    "Import a changed file under another name.",
                )
        counts = {
            "items": len(work.items),
            "judgments": len(work.judgments),
            "workers": len({row.worker_id for row in work.judgments}),
            "new_items": add_items(connection, work.items),
            "new_judgments": add_judgments(connection, work.judgments),
        }
        if counts["new_judgments"]:
            source = work.judgments[0].source
            log_event(connection, iso(clock()), "work imported", source, task=work.task, **counts)
    return counts


def read_json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (`<file> line <n>`, object) for each line of a JSON Lines file.

    Raises:
        UserError: The file is missing, not UTF-8, or a line is not a JSON object.
    """
    try:
        file = path.open(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        number = 0
        try:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path} line {number}", _object(path, number, line)
        except UnicodeDecodeError as error:
            raise UserError(f"{path} line {number + 1}: not UTF-8 text.") from error
        if number == 0:
            raise UserError(f"{path} is empty.", "Expected one JSON object per line.")


def require(where: str, row: dict[str, Any], key: str, kind: type, expected: str) -> Any:
    """Return `row[key]` when it is of `kind`.

    Raises:
        UserError: It is missing or of another type; the message says what was expected.
    """
    if key not in row:
        raise UserError(f"{where}: no key {key!r}.", expected)
    if not isinstance(row[key], kind):
        raise UserError(f"{where}: {key!r} is {type(row[key]).__name__}.", expected)
    return row[key]


def storable(where: str, name: object, longest: int = _LONGEST_NAME) -> str:
    """Return an item, cluster or worker name as text that fits its column.

    Raises:
        UserError: Empty or too long.
    """
    text = clean(str(name))
    if not text or len(text) > longest:
        raise UserError(
            f"{where}: the name {text[:40]!r} has {len(text)} characters.",
            f"Item and worker names have 1 to {longest}.",
        )
    return text


def worker_name(where: str, name: object) -> str:
    """Return a worker id as text that fits its column."""
    return storable(where, name, _LONGEST_WORKER)


def clean(text: str) -> str:
    """Replace what no database stores (NUL, lone surrogates) by U+FFFD."""
    whole = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return whole.replace("\x00", "\ufffd")


def refuse_repeat(where: str, name: str, seen: dict[str, str]) -> None:
    """Remember where an item was first seen.

    Raises:
        UserError: The same item is in the file twice.
    """
    if name in seen:
        raise UserError(f"{where}: item {name} is there twice (first: {seen[name]}).")
    seen[name] = where


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(
            f"{path} line {number}: not valid JSON ({error}).",
            "Expected one JSON object per line.",
        ) from error
    if not isinstance(value, dict):
        raise UserError(
            f"{path} line {number}: a JSON {type(value).__name__}, not an object.",
            "Expected one JSON object per line.",
        )
    return value
