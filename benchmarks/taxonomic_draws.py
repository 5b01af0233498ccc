"""Taxonomic draws, vectorised, beside naive pandas filters on the same catalogue.

    python benchmarks/taxonomic_draws.py --photos 1700000

The ten draws of a pivot (two for each of five levels, the pivot's own observation excluded) for 405
and for 100,000 pivots; pandas does the same for some pivots and is scaled up.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
import pyarrow as pa
from pairs_to_words.project.records import PHOTOS, TAXA
from pairs_to_words.sampling.branches import propose
from pairs_to_words.sampling.domain import Domain, build_domain
from pairs_to_words.sampling.pivots import pivot_candidates
from pairs_to_words.sampling.plan import parse_plan

PLAN = parse_plan("species=2,genus=2,family=2,order=2,class=2")
SPECIES = 8510


def catalogue(photos: int) -> tuple[pa.Table, pa.Table]:
    rng = np.random.default_rng(0)
    genus = np.sort(rng.integers(0, 2300, SPECIES))
    columns: dict[str, object] = {}
    for name, ids in [
        ("species", np.arange(SPECIES) + 1),
        ("genus", 20_000 + genus),
        ("family", 30_000 + genus // 9),
        ("order", 40_000 + genus // 54),
        ("class", np.full(SPECIES, 3)),
    ]:
        columns[f"{name}_id"] = ids
        columns[name] = [""] * SPECIES
    columns["common_name"] = [""] * SPECIES
    taxa = pa.table({name: columns[name] for name in TAXA.names}, schema=TAXA)
    weights = 1 / np.arange(1, SPECIES + 1) ** 0.9
    species = rng.choice(SPECIES, photos, p=weights / weights.sum()) + 1
    empty = pa.nulls(photos, pa.string()).fill_null("")
    data = {
        "photo_id": np.arange(photos),
        "observation_id": np.arange(photos),
        "observer_id": rng.integers(0, 50_000, photos),
        "species_id": species,
        "position": np.zeros(photos, np.int32),
    }
    return (
        pa.table({name: data.get(name, empty) for name in PHOTOS.names}, schema=PHOTOS),
        taxa,
    )


def with_pandas(photos: pd.DataFrame, pivots: pd.DataFrame, rng: np.random.Generator) -> None:
    """Filter the whole table for each level of each pivot, as a notebook would."""
    ranks = ["species_id", "genus_id", "family_id", "order_id", "class_id"]
    for _, pivot in pivots.iterrows():
        inner = photos["photo_id"] == pivot["photo_id"]
        for rank in ranks:
            outer = photos[rank] == pivot[rank]
            pool = photos[outer & ~inner]
            inner = outer
            for species in rng.permutation(pool["species_id"].unique())[:2]:
                pool[pool["species_id"] == species].sample(1, random_state=1)


def timed(domain: Domain, pivots: int) -> float:
    species = np.flatnonzero(domain.observation_counts >= 4)
    chosen = np.random.default_rng(1).choice(species, pivots)
    best = np.inf
    for _ in range(5):
        started = time.perf_counter()
        pivot = pivot_candidates(domain, chosen, 0, count=1)[:, 0]
        propose(domain, PLAN, 0, chosen, pivot)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--photos", type=int, default=1_700_000)
    parser.add_argument("--naive", type=int, default=10, help="pivots that pandas does")
    arguments = parser.parse_args()
    photos, taxa = catalogue(arguments.photos)
    started = time.perf_counter()
    domain = build_domain(photos, taxa)
    print(f"build: {time.perf_counter() - started:.2f} s for {arguments.photos:,} photos")
    table = photos.select(["photo_id", "species_id"]).to_pandas()
    ranks = taxa.select(["species_id", "genus_id", "family_id", "order_id", "class_id"]).to_pandas()
    table = table.merge(ranks, on="species_id")
    pivots = table.sample(arguments.naive, random_state=0)
    started = time.perf_counter()
    with_pandas(table, pivots, np.random.default_rng(0))
    naive = (time.perf_counter() - started) / arguments.naive
    for count in (405, 100_000):
        seconds = timed(domain, count)
        print(
            f"{count:,} pivots x 10: {1000 * seconds:.1f} ms;"
            f" pandas {naive * count:,.0f} s, {naive * count / seconds:,.0f} x as long"
        )


if __name__ == "__main__":
    main()
