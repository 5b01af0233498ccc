"""What every format reader returns, and how it names a wrong line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.rows import JUDGMENTS
from pairs_to_words.releases.schemas import RowKind

NOT_STATED = "LicenseRef-not-stated"
"""Licence of photos of which a published file gives only the address."""


@dataclass(frozen=True)
class Published:
    """The content of published files, ready to be written as a release.

    Attributes:
        kind: The kind of rows.
        title: Of the dataset.
        citation: Whom to cite.
        license: Licence of texts and labels as the publisher states it.
        splits: In order.
        rows: Schema of the kind, sorted by row_id.
        judgments: Schema JUDGMENTS.
        attributions: One row per photo that has an address.
        funnel: Rows left after each step.
        measured: Counts that only this format has.
    """

    kind: RowKind
    title: str
    citation: str
    license: str
    splits: tuple[str, ...]
    rows: pa.Table
    judgments: pa.Table
    attributions: Sequence[Mapping[str, Any]]
    funnel: Mapping[str, int]
    measured: Mapping[str, Any] = field(default_factory=dict)


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (`<file> line <n>`, object).

    Raises:
        UserError: Not UTF-8, not JSON or not an object; the message names the line.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path} line {number}"
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (UnicodeDecodeError, ValueError, RecursionError) as error:
                raise UserError(f"{where}: not JSON: {error}.", "Expected an object.") from error
            if not isinstance(value, dict):
                raise UserError(f"{where}: {type(value).__name__}.", "Expected an object.")
            yield where, value


def text_of(where: str, row: Mapping[str, Any], key: str) -> str:
    """Return a text value.

    Raises:
        UserError: The key is missing, is no text, or holds half a character (lone surrogate).
    """
    value = row.get(key)
    if not isinstance(value, str):
        found = "missing" if key not in row else f"{type(value).__name__}"
        raise UserError(f"{where}: {key!r} is {found}.", "Expected a text.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UserError(f"{where}: {key!r} holds a lone surrogate.", "Correct the text.") from None
    return value


def refuse_unknown(where: str, row: Mapping[str, Any], known: Sequence[str]) -> None:
    """Stop at a key that would be lost.

    Raises:
        UserError: There is one.
    """
    unknown = sorted(set(row) - set(known))
    if unknown:
        raise UserError(
            f"{where}: unknown keys {', '.join(unknown)}.", f"Expected: {', '.join(known)}."
        )


def unique_ids(rows: Sequence[Mapping[str, Any]], where: Path | str) -> None:
    """Stop at a row id that is there twice.

    Raises:
        UserError: There is one.
    """
    seen: set[str] = set()
    for row in rows:
        if row["row_id"] in seen:
            raise UserError(
                f"{where}: {row['row_id']} is there twice.", "Give each part of the dataset once."
            )
        seen.add(row["row_id"])


def judgment(
    item_id: str, worker: str, value: str, position: int, phase: str, source: str
) -> dict[str, Any]:
    """Return one row of schema JUDGMENTS about the label of an item."""
    return {
        "task": "validation",
        "item_id": item_id,
        "unit_id": item_id,
        "field": "label",
        "worker": worker,
        "value": value,
        "position": position,
        "phase": phase,
        "submitted_at": "",
        "work_seconds": None,
        "source": source,
        "simulated": False,
    }


def judgments_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return judgments in the order of released ones."""
    ordered = sorted(rows, key=lambda r: (r["item_id"], r["position"]))
    return pa.Table.from_pylist(ordered, schema=JUDGMENTS)


def sorted_table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table sorted by row_id (by code point, as released rows are)."""
    return pa.Table.from_pylist(sorted(rows, key=lambda r: str(r["row_id"])), schema=schema)


def addresses(urls: Sequence[str | None]) -> list[dict[str, Any]]:
    """Return attribution rows for photos of which only the address is known."""
    return [
        {"photo_id": url, "license": NOT_STATED, "attribution": "", "url": url}
        for url in sorted({url for url in urls if url})
    ]
