"""Observations of the embedded domain: how often, by whom, under which licence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from pairs_to_words.project.records import PHOTOS
from pairs_to_words.project.seeds import keyed_hash, keyed_rng

OBSERVERS = 900

LICENSES = {
    "CC-BY-NC-4.0": 0.62,
    "CC-BY-4.0": 0.16,
    "CC0-1.0": 0.10,
    "CC-BY-NC-SA-4.0": 0.04,
    "CC-BY-SA-4.0": 0.02,
    "CC-BY-NC-ND-4.0": 0.03,
    "": 0.03,
}
"""Licence (SPDX; empty = all rights reserved) to its share, near iNaturalist's."""

ALLOWED = tuple(name for name in LICENSES if name and "-ND" not in name)

_FIRST = (
    "Ada",
    "Ben",
    "Chloe",
    "Dev",
    "Eira",
    "Femi",
    "Gita",
    "Hugo",
    "Ines",
    "Jun",
    "Kai",
    "Lena",
)
_LAST = ("Abara", "Berg", "Castro", "Diaz", "Evans", "Fox", "Garcia", "Hill", "Ito", "Jones", "Kim")


def observe(taxa: pa.Table, seed: int) -> tuple[pa.Table, list[dict[str, object]]]:
    """Return the eligible photos (PHOTOS schema, sorted by id) and the funnel that led there.

    Observations per species are long-tailed (log-normal, median about 4, some with one, a few with
    dozens); one in eight observations has more than one photo; a few observers take most photos.
    """
    rows = [row for taxon in taxa.to_pylist() for row in _species_rows(taxon, seed)]
    photos = pd.DataFrame(rows)
    funnel: list[dict[str, object]] = [
        {"step": "photos", "kept": len(photos), "removed": 0, "why": "all photos of the domain"}
    ]
    for step, why, keep in (
        ("grade", "not research grade", photos["grade"] == "research"),
        ("licence", "no licence, or one that forbids derivatives", photos["license"].isin(ALLOWED)),
    ):
        kept = photos[keep.reindex(photos.index)]
        removed = len(photos) - len(kept)
        funnel.append({"step": step, "kept": len(kept), "removed": removed, "why": why})
        photos = kept
    photos = photos.sort_values("photo_id", ignore_index=True)
    return pa.Table.from_pandas(photos, schema=PHOTOS, preserve_index=False), funnel


def _species_rows(taxon: dict[str, object], seed: int) -> list[dict[str, object]]:
    """Return one species' photos; ids depend on nothing but the species and the counters."""
    name, species_id = str(taxon["species"]), int(str(taxon["species_id"]))
    rng = keyed_rng(seed, "observations", name)
    count = 1 + min(int(rng.lognormal(1.3, 0.62)), 40)
    rows = []
    for number in range(count):
        # Zipf-like activity: the square of a uniform draw prefers low observer numbers.
        observer = int(OBSERVERS * rng.random() ** 2.2)
        grade = "research" if rng.random() < 0.94 else str(rng.choice(["needs_id", "casual"]))
        license_id = str(rng.choice(list(LICENSES), p=list(LICENSES.values())))
        observation_id = species_id * 1000 + number
        person = observer_name(observer, seed)
        for position in range(1 + min(int(rng.geometric(0.88)) - 1, 3)):
            photo_id = observation_id * 10 + position
            rights = f"some rights reserved ({license_id})" if license_id else "all rights reserved"
            rows.append(
                {
                    "photo_id": photo_id,
                    "observation_id": observation_id,
                    "observation_uuid": f"demo-{keyed_hash(seed, 'uuid', observation_id):016x}",
                    "observer_id": observer,
                    "observer_name": person,
                    "species_id": species_id,
                    "position": position,
                    "grade": grade,
                    "license": license_id,
                    "attribution": f"(c) {person}, {rights}; drawn by the embedded domain",
                    "url": f"demo:photo/{photo_id}",
                }
            )
    return rows


def observer_name(number: int, seed: int) -> str:
    """Return an invented person's name, the same for a number every time."""
    rng = keyed_rng(seed, "observer", number)
    return f"{rng.choice(_FIRST)} {rng.choice(_LAST)} {number}"


def individual_rng(seed: int, observation_id: int) -> np.random.Generator:
    """Return the generator of one bird: all photos of an observation show the same individual."""
    return keyed_rng(seed, "individual", observation_id)
