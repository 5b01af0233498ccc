"""Synthetic catalogues: a tree with small and large clades, long-tailed observations, observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pairs_to_words.project.records import PHOTO_INDEX, PHOTOS, TAXA
from pairs_to_words.sampling.domain import Domain, build_domain
from pairs_to_words.sampling.embeddings import Embeddings, embeddings_of

Lineage = tuple[int, int, int, int, int]
"""species, genus, family, order, class ids."""


def taxa_table(lineages: Sequence[Lineage]) -> pa.Table:
    columns = list(zip(*lineages, strict=True))
    data: dict[str, list[object]] = {"common_name": [f"bird {i}" for i in columns[0]]}
    for rank, ids in zip(("species", "genus", "family", "order", "class"), columns, strict=True):
        data[f"{rank}_id"] = list(ids)
        data[rank] = [f"{rank} {i}" for i in ids]
    return pa.table({name: data[name] for name in TAXA.names}, schema=TAXA)


def photos_table(
    observations: Sequence[tuple[int, int]], photos_each: Sequence[int] | None = None
) -> pa.Table:
    """Make photos from (species id, observer id) observations."""
    rows: list[tuple[object, ...]] = []
    for number, (species, observer) in enumerate(observations):
        for position in range(1 if photos_each is None else photos_each[number]):
            rows.append(
                (
                    len(rows) + 1,
                    number + 1,
                    None,
                    observer,
                    f"observer {observer}",
                    species,
                    position,
                    "research",
                    "CC0-1.0",
                    "",
                    "",
                )
            )
    columns = list(zip(*rows, strict=True))
    return pa.table(dict(zip(PHOTOS.names, columns, strict=True)), schema=PHOTOS)


def random_lineages(rng: np.random.Generator, species: int) -> list[Lineage]:
    """Make a tree with monotypic and large genera, families and orders, ids in no order."""
    genus = np.minimum(rng.geometric(0.02, species), species // 3)
    family = genus // 3
    order = family // 3
    ids = rng.permutation(species * 3)[:species] + 1
    return [
        (int(s), 100_000 + int(g), 200_000 + int(f), 300_000 + int(o), 3)
        for s, g, f, o in zip(ids, genus, family, order, strict=True)
    ]


def random_catalogue(seed: int, species: int = 300) -> tuple[pa.Table, pa.Table]:
    rng = np.random.default_rng(seed)
    lineages = random_lineages(rng, species)
    counts = np.minimum(rng.zipf(1.5, species) + 2, 60)
    observed = [
        (lineage[0], int(rng.integers(200)))
        for lineage, count in zip(lineages, counts, strict=True)
        for _ in range(count)
    ]
    observed = [observed[i] for i in rng.permutation(len(observed))]
    photos = photos_table(observed, rng.integers(1, 4, len(observed)).tolist())
    return photos, taxa_table(lineages)


@pytest.fixture(scope="session")
def catalogue() -> tuple[pa.Table, pa.Table]:
    return random_catalogue(0)


@pytest.fixture(scope="session")
def domain(catalogue: tuple[pa.Table, pa.Table]) -> Domain:
    return build_domain(*catalogue)


@pytest.fixture
def shards(tmp_path: Path) -> Callable[..., Embeddings]:
    """Write float16 rows as shards of `size` rows, in a given order of shards."""

    def write(
        rows: np.ndarray, ids: np.ndarray, size: int, order: Sequence[int] | None = None
    ) -> Embeddings:
        starts = list(range(0, len(rows), size))
        chosen = [starts[i] for i in order] if order is not None else starts
        folder = tmp_path / f"shards-{size}-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        files = []
        for number, start in enumerate(chosen):
            files.append(folder / f"shard-{number:05d}.npy")
            np.save(files[-1], rows[start : start + size].astype(np.float16))
        places = np.concatenate([np.arange(s, min(s + size, len(rows))) for s in chosen])
        return embeddings_of(ids[places], files)

    return write


def index_table(photo_ids: Sequence[int], hashes: Sequence[str], phash: Sequence[int]) -> pa.Table:
    count = len(photo_ids)
    columns = [photo_ids, hashes, phash, [64] * count, [64] * count, [1000] * count]
    return pa.table(dict(zip(PHOTO_INDEX.names, columns, strict=True)), schema=PHOTO_INDEX)


@pytest.fixture(scope="session")
def build() -> SimpleNamespace:
    """The table builders: in importlib mode test files cannot import this one."""
    return SimpleNamespace(
        taxa=taxa_table,
        photos=photos_table,
        lineages=random_lineages,
        catalogue=random_catalogue,
        index=index_table,
    )
