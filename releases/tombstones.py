"""What was removed for good: hashes only, kept beside the releases and inside each later one.

`releases/tombstones.json` holds one entry per removed photo, observer or writer: the kind, a hash
and the day. Photos and writers are hashed by what a release shows of them (photo id, pseudonym),
so that whoever holds an older release can find the rows; observers, who are not columns of a row,
are hashed with the project's secret.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_json, write_json

TOMBSTONES = "tombstones.json"


@dataclass(frozen=True)
class Tombstone:
    """One removal."""

    kind: str
    hash: str
    date: str


def photo_hash(photo_id: int) -> str:
    """Return the hash by which a photo is buried."""
    return sha256(f"photo {photo_id}".encode()).hexdigest()


def writer_hash(pseudonym: str) -> str:
    """Return the hash by which a writer is buried."""
    return sha256(f"writer {pseudonym}".encode()).hexdigest()


def observer_hash(key: bytes, observer_id: int) -> str:
    """Return the hash by which an observer is buried, of no use without the project's secret."""
    return hmac.new(key, f"observer {observer_id}".encode(), sha256).hexdigest()


def read_tombstones(folder: Path) -> list[Tombstone]:
    """Return the tombstones beside releases (or inside one); none when there is no file.

    Raises:
        UserError: The file is not of this form.
    """
    path = folder / TOMBSTONES
    if not path.exists():
        return []
    try:
        return [Tombstone(**entry) for entry in read_json(path)["tombstones"]]
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is not a list of tombstones: {error}.") from error


def as_json(tombstones: Iterable[Tombstone]) -> dict[str, Any]:
    """Return what tombstones.json holds: sorted, one entry per hash."""
    unique = {stone.hash: vars(stone) for stone in sorted(tombstones, key=lambda s: s.date)[::-1]}
    return {"tombstones": [unique[name] for name in sorted(unique)]}


def add_tombstones(folder: Path, new: Iterable[Tombstone]) -> list[Tombstone]:
    """Bury more; who is buried already keeps the day. Return all."""
    merged = as_json([*read_tombstones(folder), *new])
    write_json(folder / TOMBSTONES, merged)
    return [Tombstone(**entry) for entry in merged["tombstones"]]


def buried_rows(rows: pa.Table, tombstones: Iterable[Tombstone]) -> np.ndarray:
    """Return a mask of the rows that show a buried photo or were written by a buried writer."""
    hashes = {stone.hash for stone in tombstones}
    mask = np.zeros(len(rows), bool)
    if not hashes:
        return mask
    for column, hashed in (
        ("photo_1_id", photo_hash),
        ("photo_2_id", photo_hash),
        ("writer", writer_hash),
    ):
        if column in rows.column_names:
            values = rows[column].to_pandas()
            gone = {value for value in values.dropna().unique() if hashed(value) in hashes}
            mask |= values.isin(gone).to_numpy()
    return mask
