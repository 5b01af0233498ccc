"""Write embeddings shard by shard, so that a killed run goes on where it stopped.

A shard is finished when its `.json` is there: that is written after the rows, both atomically. The
shard's key hashes what decides its rows (encoder, photo ids, photo contents), so shards survive a
catalogue that grew and never a changed photo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.files import (
    atomic_path,
    hash_file,
    hash_value,
    read_json,
    remove_leftovers,
    write_json,
)
from pairs_to_words.project.layout import photo_file
from pairs_to_words.project.manifest import Manifest, is_current, write_manifest
from pairs_to_words.project.progress import Progress, no_progress

Ints = NDArray[np.int64]
Half = NDArray[np.float16]

SHARD_ROWS = 4096

Advance = Callable[[int], object]
Encode = Callable[[Sequence[Path], Advance], NDArray[np.floating]]
"""(files, advance) -> features, one row per file; calls advance with the photos done."""


@dataclass(frozen=True)
class Written:
    """What a run did.

    Attributes:
        photos: Photos with embeddings now.
        missing: Catalogue photos without a file.
        reused: Shards that were there already.
        shards: Shards in all.
        current: Nothing had changed, nothing was done.
    """

    photos: int
    missing: int
    reused: int
    shards: int
    current: bool


def embed_photos(
    catalog_photos: pa.Table,
    index: pa.Table,
    photos: Path,
    directory: Path,
    identity: dict[str, str],
    encode: Encode,
    *,
    dimensions: int,
    inputs: dict[str, str],
    notes: dict[str, object] | None = None,
    shard_rows: int = SHARD_ROWS,
    progress: Progress = no_progress,
) -> Written:
    """Embed every catalogue photo that has a file, in order of photo id.

    Args:
        catalog_photos: Schema `PHOTOS`.
        index: Schema `PHOTO_INDEX`.
        photos: The project's folder of photo files.
        directory: Where shards, ids and manifest go.
        identity: What decides the features (`Encoder.identity`).
        encode: Makes features of files.
        dimensions: Length of a row.
        inputs: Hashes of the input files, for the manifest.
        notes: Kept in the manifest.
        shard_rows: Photos per shard.
        progress: Counts photos.

    Raises:
        UserError: No catalogue photo has a file.
        CouldNotError: A feature is not finite; the message names the photo.
    """
    ids, hashes = _photos_with_files(catalog_photos, index)
    missing = catalog_photos.num_rows - len(ids)
    planned = Manifest("embed", inputs, identity | {"shard_rows": shard_rows})
    shards = -(-len(ids) // shard_rows)
    if is_current(directory, planned):
        return Written(len(ids), missing, shards, shards, True)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "manifest.json").unlink(missing_ok=True)
    remove_leftovers(directory)
    outputs: dict[str, str] = {}
    reused = 0
    with progress("embed", total=len(ids), unit="photo") as advance:
        for number in range(shards):
            part = slice(number * shard_rows, (number + 1) * shard_rows)
            shard = directory / f"shard-{number:05d}.npy"
            key = hash_value([identity, ids[part].tolist(), hashes[part]])
            checksum = _finished(shard, key)
            if checksum:
                reused += 1
                advance(len(hashes[part]))
            else:
                files = [photo_file(photos, content) for content in hashes[part]]
                checksum = _write_shard(shard, key, ids[part], encode(files, advance))
            outputs[shard.name] = checksum
    _remove_beyond(directory, shards)
    with atomic_path(directory / "ids.npy") as temporary, temporary.open("wb") as file:
        np.save(file, ids)
    outputs["ids.npy"] = hash_file(directory / "ids.npy")
    write_manifest(
        directory,
        Manifest(
            "embed",
            inputs,
            planned.config,
            outputs=outputs,
            counts={"photos": len(ids), "without file": missing, "dimensions": dimensions},
            notes=dict(notes or {}),
        ),
    )
    return Written(len(ids), missing, reused, shards, False)


def _photos_with_files(catalog_photos: pa.Table, index: pa.Table) -> tuple[Ints, list[str]]:
    known = np.asarray(index["photo_id"].to_numpy(), np.int64)
    wanted = np.isin(known, catalog_photos["photo_id"].to_numpy())
    order = np.flatnonzero(wanted)[np.argsort(known[wanted], kind="stable")]
    if not len(order):
        raise UserError("No photo of the catalogue has a file.", "Get the photos first.")
    return known[order], index["sha256"].take(pa.array(order)).to_pylist()


def _finished(shard: Path, key: str) -> str:
    """Return the checksum of a finished shard with this key, else nothing."""
    record = shard.with_suffix(".json")
    if not (shard.exists() and record.exists()):
        return ""
    found = read_json(record)
    return str(found["sha256"]) if found.get("key") == key else ""


def _write_shard(shard: Path, key: str, ids: Ints, features: NDArray[np.floating]) -> str:
    with np.errstate(over="ignore"):
        rows = features.astype(np.float16)
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise CouldNotError(
            f"The embedding of photo {int(ids[bad][0])} is not finite in float16"
            f" ({int(bad.sum())} of {len(ids)} in {shard.name}).",
            "Nothing of this shard was written; try `--precision float32` or another encoder.",
        )
    # A stale record beside new rows would vouch for the wrong content.
    shard.with_suffix(".json").unlink(missing_ok=True)
    with atomic_path(shard) as temporary, temporary.open("wb") as file:
        np.save(file, rows)
    checksum = hash_file(shard)
    write_json(shard.with_suffix(".json"), {"key": key, "rows": len(rows), "sha256": checksum})
    return checksum


def _remove_beyond(directory: Path, shards: int) -> None:
    for path in directory.glob("shard-*.*"):
        if int(path.stem.removeprefix("shard-")) >= shards:
            path.unlink()
