"""Grid features of released photos: computed once per photo, read by memory map.

features/<encoder>/grids-<n>.npy        float16, photos x cells x features
features/<encoder>/grids-<n>.ids.json   the photos' SHA-256 in row order; written last
features/<encoder>/encoder.json         encoder, weights and preprocessing that made the grids

Photos that are new are appended as a further shard. A pivot that stands in twelve pairs is
encoded once. Grids of other weights or another preprocessing are refused, never mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.files import atomic_path, read_json, write_json
from pairs_to_words.project.layout import photo_file
from pairs_to_words.project.progress import Progress, no_progress
from torch import Tensor

Grids = npt.NDArray[np.float16]
EncodeFiles = Callable[[Sequence[Path]], Grids]
"""Takes photo files, returns float16 grids (N, cells, features) in their order."""

SHARD = 512  # photos per shard: what an interruption can lose


@dataclass(frozen=True)
class GridStore:
    """Grid features by photo."""

    shards: tuple[Grids, ...]
    rows: dict[str, tuple[int, int]]

    @property
    def shape(self) -> tuple[int, int]:
        """Cells per photo and features per cell."""
        return self.shards[0].shape[1], self.shards[0].shape[2]

    def gather(self, photos: Sequence[str]) -> Grids:
        """Return the grids of `photos` in order, (N, cells, features)."""
        out = np.empty((len(photos), *self.shape), dtype=np.float16)
        for index, photo in enumerate(photos):
            shard, row = self.rows[photo]
            out[index] = self.shards[shard][row]
        return out


def cache_grids(
    directory: Path,
    photos_folder: Path,
    photos: Sequence[str],
    *,
    description: dict[str, Any],
    encode: EncodeFiles,
    progress: Progress = no_progress,
) -> GridStore:
    """Return the grids of `photos`, computing those that the cache lacks.

    Args:
        directory: The cache, features/<encoder>.
        photos_folder: Holds ab/cd/<sha256>.
        photos: SHA-256 of each photo, each once.
        description: What decides the features: encoder, weights' hash, preprocessing.
        encode: Computes grids of files.
        progress: Shows the photos computed.

    Raises:
        CouldNotError: A photo's file is missing, or the cache was made with other weights.
    """
    _check_encoder(directory, description)
    known = _known_rows(directory)
    missing = [photo for photo in photos if photo not in known]
    absent = [photo for photo in missing if not photo_file(photos_folder, photo).is_file()]
    if absent:
        raise CouldNotError(
            f"{len(absent)} of the release's photos are not in {photos_folder}, first {absent[0]}.",
            "Put the files there as ab/cd/<sha256>, or name another folder with --photos.",
        )
    if missing:
        write_json(directory / "encoder.json", description)
        with progress("grid features", total=len(missing), unit="photos") as advance:
            for start in range(0, len(missing), SHARD):
                part = missing[start : start + SHARD]
                grids = encode([photo_file(photos_folder, photo) for photo in part])
                _write_shard(directory, part, grids)
                advance(len(part))
    return open_grids(directory)


def open_grids(directory: Path) -> GridStore:
    """Open the finished shards of a cache."""
    names = _shard_names(directory)
    shards = tuple(np.load(directory / f"{name}.npy", mmap_mode="r") for name in names)
    return GridStore(shards, _known_rows(directory))


def _check_encoder(directory: Path, description: dict[str, Any]) -> None:
    path = directory / "encoder.json"
    if path.exists() and (present := read_json(path)) != description:
        differing = [k for k in description if present.get(k) != description[k]]
        raise CouldNotError(
            f"The grid features in {directory} were made with another {' and '.join(differing)}.",
            "Delete that folder to compute them again.",
        )


def _shard_names(directory: Path) -> list[str]:
    return sorted(
        path.name.removesuffix(".ids.json") for path in directory.glob("grids-*.ids.json")
    )


def _known_rows(directory: Path) -> dict[str, tuple[int, int]]:
    return {
        photo: (shard, row)
        for shard, name in enumerate(_shard_names(directory))
        for row, photo in enumerate(read_json(directory / f"{name}.ids.json"))
    }


def _write_shard(directory: Path, photos: Sequence[str], grids: Grids) -> None:
    name = f"grids-{len(_shard_names(directory)):05d}"
    with atomic_path(directory / f"{name}.npy") as temporary, temporary.open("wb") as file:
        np.save(file, grids.astype(np.float16, copy=False))
    write_json(directory / f"{name}.ids.json", list(photos))


@dataclass(frozen=True)
class GridScale:
    """Centres grid features and keeps their leading principal components; part of a model.

    Attributes:
        mean: (features,).
        basis: (features, components), scaled so that the kept components have unit mean variance.
    """

    mean: Tensor
    basis: Tensor

    def apply(self, grids: Grids) -> Tensor:
        """Map (N, cells, features) to float32 (N, cells, components)."""
        parts = [
            (torch.from_numpy(np.ascontiguousarray(part)).float() - self.mean) @ self.basis
            for part in np.array_split(grids, max(1, len(grids) // 256))
        ]
        return torch.cat(parts)


def fit_grid_scale(grids: Grids, components: int) -> GridScale | None:
    """Fit principal components on training photos (N, cells, features); None keeps all features.

    Uses at most 20,000 cells, evenly spaced, so that it takes seconds whatever the release.
    """
    if not components:
        return None
    cells = grids.reshape(-1, grids.shape[-1])
    sample = torch.from_numpy(cells[:: max(1, len(cells) // 20_000)].astype(np.float64))
    mean = sample.mean(dim=0)
    covariance = torch.cov((sample - mean).T)
    values, vectors = torch.linalg.eigh(covariance)
    kept = min(components, len(values))
    # The sign of an eigenvector is arbitrary: fixed, so that two runs agree.
    basis = vectors[:, -kept:].flip(1)
    basis = basis * basis[basis.abs().argmax(dim=0), torch.arange(kept)].sign()
    spread = values[-kept:].mean().sqrt().clamp(min=1e-6)
    return GridScale(mean.float(), (basis / spread).float())
