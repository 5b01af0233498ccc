"""Birds-to-Words (Forbes et al. 2019): a TSV of eleven columns, one description per row."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import LEVELS, VISUAL
from pairs_to_words.releases.formats.reading import (
    Published,
    addresses,
    judgments_table,
    sorted_table,
    unique_ids,
)
from pairs_to_words.releases.read import Release
from pairs_to_words.releases.schemas import row_kind

COLUMNS = {
    "img1ObservationURL": "photo_1_observation_url",
    "img1ImgURL": "photo_1_url",
    "img1Species": "photo_1_species",
    "img1Selection": "photo_1_selection",
    "img2ObservationURL": "photo_2_observation_url",
    "img2ImgURL": "photo_2_url",
    "img2Species": "photo_2_species",
    "img2Selection": "photo_2_selection",
    "split": "split",
    "annN": "annotation_number",
    "description": "text",
}
SPLITS = ("train", "val", "test")
_SELECTIONS = ("base", VISUAL, *(f"same{level.capitalize()}" for level in LEVELS))
_LARGEST = 10 * 1024 * 1024  # characters in one field


def read_birds_to_words(paths: Sequence[Path]) -> Published:
    """Read the published TSV.

    Raises:
        UserError: Other columns, a wrong number of cells, an unknown split or selection; the
            message names the line.
    """
    rows: list[dict[str, Any]] = []
    for path in paths:
        rows += _read(path)
    unique_ids(rows, ", ".join(map(str, paths)))
    return Published(
        kind=row_kind("birds-to-words"),
        title="Birds-to-Words: comparative descriptions of two birds",
        citation="Forbes et al. 2019, Neural Naturalist: Generating Fine-Grained Image "
        "Comparisons (EMNLP)",
        license="CC-BY-SA-4.0",
        splits=SPLITS,
        rows=sorted_table(rows, row_kind("birds-to-words").schema),
        judgments=judgments_table([]),
        attributions=addresses([row[f"photo_{s}_url"] for row in rows for s in (1, 2)]),
        funnel={"rows read": len(rows)},
        measured={
            "pairs": len({row["pair_id"] for row in rows}),
            "texts_by_level": {
                name: n
                for name in _SELECTIONS
                if (n := sum(row["photo_2_selection"] == name for row in rows))
            },
        },
    )


def write_birds_to_words(release: Release, folder: Path) -> list[Path]:
    """Write one `<name>-v<version>.tsv` with the eleven columns."""
    path = folder / f"{release.name}-v{release.version}.tsv"
    lines: list[dict[str, Any]] = []
    for split in release.splits:
        lines += release.rows(split).to_pylist()
    if release.kind.name == "paragraphs":
        lines = _from_paragraphs(lines)
    elif release.kind != row_kind("birds-to-words"):
        raise UserError(f"Rows of kind {release.kind.name} cannot be written as b2w-tsv.")
    lines.sort(key=lambda row: row["source_position"])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([row[column] for column in COLUMNS.values()] for row in lines)
    return [path]


def _read(path: Path) -> list[dict[str, Any]]:
    csv.field_size_limit(_LARGEST)
    rows: list[dict[str, Any]] = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, delimiter="\t")
            header = next(reader, [])
            if header != list(COLUMNS):
                raise UserError(
                    f"{path} line 1: other columns: {', '.join(header)[:200]}.",
                    f"Expected: {', '.join(COLUMNS)}.",
                )
            for cells in reader:
                rows.append(_row(f"{path} line {reader.line_num}", cells, len(rows)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a UTF-8 TSV: {error}.") from error
    return rows


def _row(where: str, cells: list[str], position: int) -> dict[str, Any]:
    if len(cells) != len(COLUMNS):
        raise UserError(f"{where}: {len(cells)} cells.", f"Expected {len(COLUMNS)}.")
    row: dict[str, Any] = dict(zip(COLUMNS.values(), cells, strict=True))
    if row["split"] not in SPLITS:
        raise UserError(f"{where}: split {row['split']!r}.", f"Expected {', '.join(SPLITS)}.")
    for side in (1, 2):
        if (selection := row[f"photo_{side}_selection"]) not in _SELECTIONS:
            raise UserError(
                f"{where}: selection {selection!r}.", f"Expected {', '.join(_SELECTIONS)}."
            )
    number = row["annotation_number"]
    if not number.isascii() or not number.isdigit() or str(int(number)) != number:
        raise UserError(f"{where}: annN is {number!r}.", "Expected a number from 1.")
    key = f"{row['photo_1_url']}\n{row['photo_2_url']}".encode()
    pair_id = blake2b(key, digest_size=8).hexdigest()
    return row | {
        "row_id": f"{pair_id}-{number}",
        "pair_id": pair_id,
        "annotation_number": int(number),
        "source_position": position,
    }


def _from_paragraphs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give rows of our own releases the published columns; texts of a pair are numbered from 1."""
    numbers: dict[str, int] = {}
    found = []
    for position, row in enumerate(sorted(rows, key=lambda r: str(r["row_id"]))):
        numbers[row["pair_id"]] = numbers.get(row["pair_id"], 0) + 1
        level = row["level_requested"]
        line = {
            "split": row["split"],
            "annotation_number": numbers[row["pair_id"]],
            "text": row["text"],
            "source_position": position,
            "photo_1_selection": "base",
            "photo_2_selection": level if level == VISUAL else f"same{level.capitalize()}",
        }
        for side in (1, 2):
            line[f"photo_{side}_observation_url"] = row[f"photo_{side}_url"]
            line[f"photo_{side}_url"] = row[f"photo_{side}_url"]
            line[f"photo_{side}_species"] = row[f"photo_{side}_species"]
        found.append(line)
    return found
