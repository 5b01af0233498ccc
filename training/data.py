"""A release as a trainer sees it: image pairs with their texts, by split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pairs_to_words.project.errors import CouldNotError, UserError

TRAIN, VALIDATION, TEST = "train", "val", "test"


@dataclass(frozen=True)
class DescribedPair:
    """One released image pair with all its texts; the pivot is photo 1.

    Attributes:
        pair_id: The pair.
        split: `train`, `val` or `test`.
        level: `visual` or the taxonomic level that was asked for.
        photo_1: SHA-256 of the pivot's file.
        photo_2: SHA-256 of the branch's file.
        texts: The texts in row order, at least one.
        species: Scientific names of the two animals.
    """

    pair_id: str
    split: str
    level: str
    photo_1: str
    photo_2: str
    texts: tuple[str, ...]
    species: tuple[str, str] = ("", "")


def pairs_of(paragraphs: pa.Table) -> list[DescribedPair]:
    """Group released rows (schema PARAGRAPHS) into pairs, sorted by pair id.

    Raises:
        UserError: Rows of one pair disagree about its split or photos.
    """
    rows_by_pair: dict[str, list[dict[str, str]]] = {}
    for row in paragraphs.to_pylist():
        rows_by_pair.setdefault(row["pair_id"], []).append(row)
    return [_pair(pair_id, rows) for pair_id, rows in sorted(rows_by_pair.items())]


def _pair(pair_id: str, rows: list[dict[str, str]]) -> DescribedPair:
    first = rows[0]
    for column in ("split", "photo_1_sha256", "photo_2_sha256"):
        if any(row[column] != first[column] for row in rows):
            raise UserError(
                f"The rows of pair {pair_id} disagree about {column}.",
                "Check the release with `collect release verify`.",
            )
    return DescribedPair(
        pair_id=pair_id,
        split=first["split"],
        level=first["level_requested"],
        photo_1=first["photo_1_sha256"],
        photo_2=first["photo_2_sha256"],
        texts=tuple(row["text"] for row in sorted(rows, key=lambda row: row["row_id"])),
        species=(first["photo_1_species"], first["photo_2_species"]),
    )


def split_of(pairs: Iterable[DescribedPair], split: str) -> list[DescribedPair]:
    """Return the pairs of one split.

    Raises:
        CouldNotError: The split is empty.
    """
    chosen = [pair for pair in pairs if pair.split == split]
    if not chosen:
        raise CouldNotError(
            f"The release has no pairs in its {split} split.",
            "Build it from more pairs: the split is by pivot species, so several are needed.",
        )
    return chosen


def photos_of(pairs: Sequence[DescribedPair]) -> list[str]:
    """Return the pairs' photos, each once, sorted."""
    return sorted({photo for pair in pairs for photo in (pair.photo_1, pair.photo_2)})
