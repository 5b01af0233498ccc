"""One HTML page about a sample: levels, coverage, observers, distances, example pairs."""

from __future__ import annotations

from base64 import b64encode
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment
from numpy.typing import NDArray
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_json, read_parquet, write_text
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.manifest import read_manifest
from pairs_to_words.project.records import LEVELS, VISUAL
from pairs_to_words.sampling.catalog import Catalog, load_catalog
from pairs_to_words.sampling.contact_sheet import thumbnail_jpeg, write_contact_sheet

_ALL = (VISUAL, *LEVELS)
_EXAMPLES = 12
_TOP_OBSERVERS = 10
SHEET = "contact-sheet.jpg"


def write_report(layout: Layout, name: str) -> dict[str, Any]:
    """Write samples/<name>/report.html; return its numbers as `--json` prints them.

    Raises:
        UserError: There is no such finished sample.
    """
    folder, manifest = layout.sample(name), read_manifest(layout.sample(name))
    if manifest is None:
        raise UserError(
            f"There is no finished sample {name!r}.",
            f"There are: {', '.join(_finished(layout)) or 'none'}.",
        )
    catalog = load_catalog(layout)
    pairs = read_parquet(folder / "pairs.parquet").to_pandas()
    photos, taxa = catalog.photos.to_pandas(), catalog.taxa.to_pandas()
    numbers: dict[str, Any] = {
        "sample": name,
        "pairs": len(pairs),
        "pivots": int(pairs["pivot_index"].nunique()),
        "levels": level_counts(pairs),
        "distances": median_distances(pairs),
        "species": _species_coverage(pairs, photos),
        "orders": order_coverage(pairs, photos, taxa),
        "observers": observer_concentration(pairs, photos),
        "licenses": _licenses(pairs, photos),
    }
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(
        (files("pairs_to_words.sampling") / "templates" / "sample_report.html").read_text("utf-8")
    )
    page = template.render(
        **numbers,
        manifest=manifest,
        funnel=read_json(folder / "funnel.json"),
        all_levels=_ALL,
        examples=_examples(layout, pairs, catalog),
    )
    write_text(folder / "report.html", page)
    return numbers | {"page": str(folder / "report.html")}


def write_sheet(layout: Layout, name: str, pairs: pd.DataFrame, catalog: Catalog) -> Path | None:
    """Write samples/<name>/contact-sheet.jpg: some pivots with their branches, one per row.

    Returns:
        The file, or None where no photo has a file.
    """
    if catalog.index is None:
        return None
    files_of, names = photo_files(layout, catalog), catalog_names(catalog)
    rows, titles = [], []
    for pivot in _spread(np.unique(pairs["pivot_index"]), _EXAMPLES):
        row = pairs[pairs["pivot_index"] == pivot]
        first = row.iloc[0]
        cells = [(files_of.get(first["pivot_photo_id"], Path()), "pivot")]
        for _, pair in row.iterrows():
            label = names[pair["branch_species_id"]]
            caption = f"{pair['level_requested']}: {label}"
            cells.append((files_of.get(pair["branch_photo_id"], Path()), caption))
        rows.append(cells)
        titles.append(names[first["pivot_species_id"]])
    path = layout.sample(name) / SHEET
    write_contact_sheet(path, rows, titles)
    return path


def catalog_names(catalog: Catalog) -> dict[int, str]:
    """Return species id -> common name with the scientific one behind it."""
    taxa = catalog.taxa
    return {
        identity: f"{common} ({species})" if common else species
        for identity, common, species in zip(
            taxa["species_id"].to_pylist(),
            taxa["common_name"].to_pylist(),
            taxa["species"].to_pylist(),
            strict=True,
        )
    }


def level_counts(pairs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return for each requested level its pairs and their true levels."""
    result = []
    for level in _ALL:
        part = pairs[pairs["level_requested"] == level]
        if len(part):
            actual = part["level_actual"].value_counts()
            result.append(
                {
                    "level": level,
                    "pairs": len(part),
                    "actual": {str(key): int(value) for key, value in actual.items()},
                }
            )
    return result


def median_distances(pairs: pd.DataFrame) -> dict[str, float | None]:
    """Return the median squared embedding distance of each requested level."""
    medians = pairs.groupby("level_requested")["distance"].median()
    return {
        level: None if pd.isna(medians[level]) else round(float(medians[level]), 4)
        for level in _ALL
        if level in medians
    }


def order_coverage(
    pairs: pd.DataFrame, photos: pd.DataFrame, taxa: pd.DataFrame
) -> list[dict[str, Any]]:
    """Return for each order its species in the catalogue, pivots and branches."""
    order = taxa.set_index("species_id")["order"]
    species = order[order.index.isin(photos["species_id"].unique())].value_counts()
    pivots = pairs.drop_duplicates("pivot_index")["pivot_species_id"].map(order).value_counts()
    branches = pairs["branch_species_id"].map(order).value_counts()
    return [
        {
            "order": str(name),
            "species": int(count),
            "pivots": int(pivots.get(name, 0)),
            "branches": int(branches.get(name, 0)),
        }
        for name, count in sorted(species.items(), key=lambda item: (-item[1], str(item[0])))
    ]


def observer_concentration(pairs: pd.DataFrame, photos: pd.DataFrame) -> dict[str, Any]:
    """Return how many observers the sample's photos come from, and the largest shares."""
    used = _used(pairs, photos)
    counts = used["observer_id"].value_counts(sort=True)
    names = dict(zip(used["observer_id"], used["observer_name"], strict=True))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {
        "photos": len(used),
        "observers": len(counts),
        "effective": round(1 / float(np.square(counts / counts.sum()).sum()), 1),
        "top": [
            {"observer": str(names[key]), "photos": int(count)}
            for key, count in ranked[:_TOP_OBSERVERS]
        ],
    }


def _species_coverage(pairs: pd.DataFrame, photos: pd.DataFrame) -> dict[str, int]:
    seen = set(pairs["pivot_species_id"]) | set(pairs["branch_species_id"])
    return {
        "catalogue": int(photos["species_id"].nunique()),
        "pivots": int(pairs["pivot_species_id"].nunique()),
        "pivots_and_branches": len(seen),
    }


def _licenses(pairs: pd.DataFrame, photos: pd.DataFrame) -> dict[str, int]:
    counts = _used(pairs, photos)["license"].value_counts()
    return {str(name): int(count) for name, count in counts.items()}


def _used(pairs: pd.DataFrame, photos: pd.DataFrame) -> pd.DataFrame:
    ids = np.union1d(pairs["pivot_photo_id"], pairs["branch_photo_id"])
    return photos[photos["photo_id"].isin(ids)]


def _examples(layout: Layout, pairs: pd.DataFrame, catalog: Catalog) -> list[dict[str, Any]]:
    files_of, names = photo_files(layout, catalog), catalog_names(catalog)
    examples = []
    for pivot in _spread(np.unique(pairs["pivot_index"]), _EXAMPLES):
        row = pairs[pairs["pivot_index"] == pivot]
        first = row.iloc[0]
        branches = [
            {
                "level": pair["level_requested"],
                "name": names[pair["branch_species_id"]],
                "image": _inline(files_of.get(pair["branch_photo_id"])),
            }
            for _, pair in row.iterrows()
        ]
        examples.append(
            {
                "name": names[first["pivot_species_id"]],
                "image": _inline(files_of.get(first["pivot_photo_id"])),
                "branches": branches,
            }
        )
    return examples


def _inline(file: Path | None) -> str:
    if file is None or not file.exists():
        return ""
    return "data:image/jpeg;base64," + b64encode(thumbnail_jpeg(file, 112)).decode()


def photo_files(layout: Layout, catalog: Catalog) -> dict[int, Path]:
    """Return photo id -> file, for photos that have one."""
    if catalog.index is None:
        return {}
    ids, hashes = catalog.index["photo_id"].to_pylist(), catalog.index["sha256"].to_pylist()
    return {key: layout.photo_file(value) for key, value in zip(ids, hashes, strict=True)}


def _spread(values: NDArray[np.int64], count: int) -> list[int]:
    """Return up to `count` values spread evenly over all of them."""
    places = np.unique(np.linspace(0, len(values) - 1, min(count, len(values))).astype(int))
    return [int(values[place]) for place in places]


def _finished(layout: Layout) -> list[str]:
    return sorted(path.parent.name for path in layout.root.glob("samples/[!.]*/manifest.json"))
