"""Open a release from its folder: all that a trainer needs, with the files checked."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_json, read_parquet
from pairs_to_words.releases.checksums import check_files
from pairs_to_words.releases.schemas import RowKind, row_kind
from pairs_to_words.releases.tombstones import buried_rows, read_tombstones

SCHEMA = "pairs-to-words release 1"


@dataclass(frozen=True)
class Release:
    """One release in a folder.

    Attributes:
        path: The folder.
        manifest: MANIFEST.json.
    """

    path: Path
    manifest: dict[str, Any]

    @property
    def name(self) -> str:
        """The dataset's name."""
        return str(self.manifest["name"])

    @property
    def version(self) -> str:
        """Version, such as `1.0.0`."""
        return str(self.manifest["version"])

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits, in the protocol's order."""
        return tuple(self.manifest["splits"])

    @property
    def statistics(self) -> dict[str, Any]:
        """The measured statistics."""
        found: dict[str, Any] = read_json(self.path / "statistics.json")
        return found

    @property
    def kind(self) -> RowKind:
        """The kind of rows."""
        return row_kind(str(self.manifest.get("rows", "paragraphs")))

    def rows(self, split: str, columns: list[str] | None = None) -> pa.Table:
        """Return the rows of a split (schema of `kind`), sorted by row_id.

        Raises:
            UserError: There is no such split, its file is damaged, or rows were removed since
                (tombstones beside the release): these may not be used any more.
        """
        table = self.stored_rows(split)
        buried = int(buried_rows(table, read_tombstones(self.path.parent)).sum())
        if buried:
            raise UserError(
                f"{buried:,} rows of split {split} in release {self.version} were removed since.",
                "Use a later release; `collect release remove` names it.",
            )
        return table if columns is None else table.select(columns)

    def stored_rows(self, split: str) -> pa.Table:
        """Return the rows of a split as released, those removed since included.

        Raises:
            UserError: There is no such split, or its file is damaged.
        """
        if split not in self.splits:
            raise UserError(
                f"The release {self.version} has no split {split!r}.",
                f"It has: {', '.join(self.splits)}.",
            )
        # The manifest may be a stranger's: only names of this form are opened.
        form = re.compile(rf"data/{re.escape(split)}-\d{{5}}-of-\d{{5}}\.parquet")
        names = sorted(name for name in self.manifest["files"] if form.fullmatch(name))
        tables = [read_parquet(self.path / name) for name in names]
        for name, table in zip(names, tables, strict=True):
            if not table.schema.equals(self.kind.schema):
                raise UserError(
                    f"{self.path / name} has other columns than rows of kind {self.kind.name}.",
                    "Check it with `collect release verify`.",
                )
        return pa.concat_tables([self.kind.schema.empty_table(), *tables])

    def all_rows(self) -> pa.Table:
        """Return the rows of all splits as released, sorted by row_id."""
        return pa.concat_tables(self.stored_rows(split) for split in self.splits).sort_by("row_id")

    def attributions(self) -> list[dict[str, str]]:
        """Return licence, author and address of each photo, all as text."""
        with (self.path / "attributions.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def judgments(self) -> pa.Table:
        """Return every raw judgment (schema rows.JUDGMENTS)."""
        return read_parquet(self.path / "judgments.parquet")


def open_release(path: Path, *, check: bool = True) -> Release:
    """Open a release folder.

    Args:
        path: The folder, such as `releases/1.0.0`.
        check: Compare every file with its checksum first.

    Raises:
        UserError: It is no release, or (with `check`) a file is missing, added or changed.
    """
    if not (path / "MANIFEST.json").is_file():
        raise UserError(
            f"{path} is not a release: it has no MANIFEST.json.",
            "Build one with `collect release build VERSION`.",
        )
    manifest = read_json(path / "MANIFEST.json")
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise UserError(f"{path / 'MANIFEST.json'} is not of schema {SCHEMA!r}.")
    if check and (wrong := check_files(path)):
        raise UserError(
            f"{path} is damaged: {'; '.join(wrong[:5])}.", "Get an undamaged copy of the release."
        )
    return Release(path, manifest)


def data_file(split: str, number: int = 0, count: int = 1) -> str:
    """Return a file of a split, relative to the release."""
    return f"data/{split}-{number:05d}-of-{count:05d}.parquet"
