"""Embeddings on disk: float16 shards, the photo ids of their rows, reading without loading all.

shard-00000.npy   float16, rows x dimensions
shard-00000.json  that shard's key and checksum, written after it: a shard without one is unfinished
ids.npy           int64 photo ids of all rows, in shard order
manifest.json     encoder, weights hash, preprocessing hash; written last
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.manifest import read_manifest

Ints = NDArray[np.int64]
Half = NDArray[np.float16]


@dataclass(frozen=True)
class Embeddings:
    """Where the rows lie.

    Attributes:
        photo_ids: Photo id of each row, in shard order; shape (N,).
        shards: Shard files.
        starts: First row of each shard, and N at the end; shape (shards + 1,).
        dimensions: Row length.
    """

    photo_ids: Ints
    shards: list[Path]
    starts: Ints
    dimensions: int

    def __len__(self) -> int:
        return len(self.photo_ids)


def open_embeddings(directory: Path) -> Embeddings:
    """Open finished embeddings.

    Raises:
        UserError: They are not there or not finished.
        CouldNotError: A shard is damaged; the message names it.
    """
    if read_manifest(directory) is None:
        raise UserError(f"{directory} has no finished embeddings.", "Run `collect embed` first.")
    photo_ids = np.load(directory / "ids.npy").astype(np.int64)
    return embeddings_of(photo_ids, sorted(directory.glob("shard-*.npy")))


def embeddings_of(photo_ids: Ints, shards: list[Path]) -> Embeddings:
    """Describe shard files, in the given order, whose rows have `photo_ids`.

    Raises:
        CouldNotError: A file is no float16 array, or their rows do not add up to the ids.
    """
    counts, dimensions = [], 0
    for shard in shards:
        rows, width, _offset = _header(shard)
        if dimensions not in (0, width):
            raise CouldNotError(
                f"{shard} has {width} dimensions, the shards before it {dimensions}.",
                "Delete the embeddings folder and run `collect embed` again.",
            )
        dimensions = width
        counts.append(rows)
    if sum(counts) != len(photo_ids):
        raise CouldNotError(
            f"The shards hold {sum(counts):,} rows for {len(photo_ids):,} photo ids.",
            "Delete the embeddings folder and run `collect embed` again.",
        )
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Embeddings(photo_ids, shards, starts, dimensions)


def read_blocks(embeddings: Embeddings, rows: int) -> Iterator[tuple[int, Half]]:
    """Yield (first row, float16 rows) blocks of at most `rows`, reusing one buffer.

    Plain reads into one buffer, not a memory map: resident memory stays at the buffer's size
    whatever the files' size. The yielded array is valid until the next step.
    """
    buffer = np.empty((rows, embeddings.dimensions), np.float16)
    for shard, start in zip(embeddings.shards, embeddings.starts, strict=False):
        count, _width, offset = _header(shard)
        with shard.open("rb", buffering=0) as file:
            file.seek(offset)
            for first in range(0, count, rows):
                part = buffer[: min(rows, count - first)]
                _fill(file, part, shard)
                yield int(start) + first, part


def read_rows(embeddings: Embeddings, places: Ints) -> Half:
    """Return the rows at `places`, in that order; shape (len(places), dimensions)."""
    result = np.empty((len(places), embeddings.dimensions), np.float16)
    shard_of = np.searchsorted(embeddings.starts, places, side="right") - 1
    for shard in np.unique(shard_of):
        here = np.flatnonzero(shard_of == shard)
        local = places[here] - embeddings.starts[shard]
        by_row = np.argsort(local, kind="stable")
        mapped = np.load(embeddings.shards[shard], mmap_mode="r")
        result[here[by_row]] = mapped[local[by_row]]
    return result


def squared_distances(first: Half, second: Half) -> NDArray[np.float64]:
    """Return the squared L2 distance of row pairs in float64 arithmetic; shapes (M, d), (M, d).

    One fixed summation order: the number does not depend on how rows were batched.
    """
    difference = first.astype(np.float64)
    difference -= second
    np.square(difference, out=difference)
    total: NDArray[np.float64] = difference.sum(axis=1)
    return total


def _header(shard: Path) -> tuple[int, int, int]:
    """Return rows, dimensions and the byte offset of the data."""
    try:
        with shard.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read(file)
            offset = file.tell()
    except (OSError, ValueError) as error:
        raise CouldNotError(f"{shard} is not a readable shard: {error}.") from error
    if dtype != np.float16 or fortran or len(shape) != 2:
        raise CouldNotError(f"{shard} holds {dtype}{shape}, expected float16 rows.")
    if shard.stat().st_size != offset + shape[0] * shape[1] * 2:
        raise CouldNotError(f"{shard} is truncated.", "Delete it and run `collect embed` again.")
    return shape[0], shape[1], offset


def _fill(file: object, part: Half, shard: Path) -> None:
    view = part.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise CouldNotError(f"{shard} ended early.", "Run `collect embed` again.")
        done += count
