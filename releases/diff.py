"""What changed between two releases, and the least version that such a change needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pairs_to_words.releases.read import Release
from pairs_to_words.releases.versions import Version, least_version, parse_version, say_version


@dataclass(frozen=True)
class Difference:
    """What changed; rows are named by row_id, sorted.

    Attributes:
        added: Rows that only the later release has.
        removed: Rows that only the earlier release has.
        changed: Rows whose values (other than the split) differ.
        moved: Rows that are in another split.
        columns: Columns that were added (`+name`), removed (`-name`) or have another type
            (`~name`).
        meaning: The kind of rows or the set of splits or labels changed.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    moved: tuple[str, ...]
    columns: tuple[str, ...] = ()
    meaning: tuple[str, ...] = ()

    def least(self, before: Version) -> Version:
        """Return the least version for this change.

        MAJOR: schema or label meaning, or rows moved between splits. MINOR: rows or columns
        added or removed. PATCH: metadata.
        """
        breaking = [c for c in self.columns if not c.startswith("+")]
        return least_version(
            before,
            moved=len(self.moved) + len(self.meaning) + len(breaking),
            changed=len(self.added) + len(self.removed) + len(self.changed) + len(self.columns),
        )

    def counts(self) -> dict[str, int]:
        """Return how many rows were added, removed, changed and moved."""
        return {name: len(getattr(self, name)) for name in ("added", "removed", "changed", "moved")}


def difference(before: pa.Table, after: pa.Table) -> Difference:
    """Compare two tables of rows by row_id."""
    then, now = _by_id(before), _by_id(after)
    both = sorted(then.keys() & now.keys())
    shared = [n for n in before.column_names if n in after.column_names and n != "split"]
    columns = [f"+{n}" for n in after.column_names if n not in before.column_names]
    columns += [f"-{n}" for n in before.column_names if n not in after.column_names]
    columns += [f"~{n}" for n in shared if before.schema.field(n) != after.schema.field(n)]
    return Difference(
        added=tuple(sorted(now.keys() - then.keys())),
        removed=tuple(sorted(then.keys() - now.keys())),
        changed=tuple(i for i in both if any(then[i][n] != now[i][n] for n in shared)),
        moved=tuple(i for i in both if then[i]["split"] != now[i]["split"]),
        columns=tuple(columns),
    )


def diff_releases(before: Release, after: Release) -> tuple[Difference, str]:
    """Compare two releases; return the difference and the least version it needs."""
    rows = difference(before.all_rows(), after.all_rows())
    meaning = []
    if before.kind.name != after.kind.name:
        meaning.append(f"rows are {after.kind.name}, were {before.kind.name}")
    if gone := [split for split in before.splits if split not in after.splits]:
        meaning.append(f"splits left out: {', '.join(gone)}")
    found = Difference(
        rows.added, rows.removed, rows.changed, rows.moved, rows.columns, tuple(meaning)
    )
    return found, say_version(found.least(parse_version(before.version)))


def _by_id(rows: pa.Table) -> dict[str, Mapping[str, Any]]:
    return {row["row_id"]: row for row in rows.to_pylist()}
