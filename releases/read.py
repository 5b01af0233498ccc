"""Open a release from its folder: all that a trainer needs, with the files checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_json, read_parquet
from pairs_to_words.project.records import PARAGRAPHS
from pairs_to_words.releases.checksums import check_files

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

    def rows(self, split: str, columns: list[str] | None = None) -> pa.Table:
        """Return the rows of a split (schema PARAGRAPHS), sorted by row_id.

        Raises:
            UserError: There is no such split, or its file is damaged.
        """
        if split not in self.splits:
            raise UserError(
                f"The release {self.version} has no split {split!r}.",
                f"It has: {', '.join(self.splits)}.",
            )
        table = read_parquet(self.path / data_file(split), columns=columns)
        if columns is None and not table.schema.equals(PARAGRAPHS):
            raise UserError(
                f"{self.path / data_file(split)} has other columns than a release has.",
                "Check it with `collect release verify`.",
            )
        return table


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


def data_file(split: str) -> str:
    """Return the file of a split, relative to the release."""
    return f"data/{split}-00000-of-00001.parquet"
