"""A small project with everything that a release is built from."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.config import load_config
from pairs_to_words.project.create import create_project
from pairs_to_words.project.files import write_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.manifest import Manifest, write_manifest
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.records import PAIRS, PHOTO_INDEX, PHOTOS, TAXA, Item, Judgment
from pairs_to_words.project.seeds import keyed_hash
from pairs_to_words.project.store.engine import open_store, transaction
from pairs_to_words.project.store.judgments import add_items, add_judgments
from pairs_to_words.qc.filters import decide
from pairs_to_words.releases.read import Release, open_release

PIVOTS = 60
WRITERS = ["AWRITERONE00", "AWRITERTWO00", "ASIMWRITER03"]


def at(minute: int) -> str:
    return f"2026-12-01T12:{minute % 60:02d}:00.000Z"


def noon() -> datetime:
    return datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """60 pivots with 2 branches each; every tenth pair is unclear; three texts per clear pair.

    Release 1.0.0 is built. Tests get copies.
    """
    root = tmp_path_factory.mktemp("template") / "project"
    layout = create_project(root, protocol="birds-to-words")
    fill(layout)
    assert main(["release", "build", "1.0.0", "--project", str(root)]) == 0
    return layout


@pytest.fixture
def built(template: Layout, tmp_path: Path) -> Layout:
    """A copy of the project with release 1.0.0."""
    shutil.copytree(template.root, tmp_path / "project")
    return Layout(tmp_path / "project")


@pytest.fixture
def filled(built: Layout) -> Layout:
    """A copy of the project without a release."""
    shutil.rmtree(built.root / "releases")
    return built


@pytest.fixture
def release(built: Layout) -> Release:
    """Release 1.0.0 in a copy of the project."""
    return open_release(built.release("1.0.0"))


def fill(layout: Layout) -> None:
    photos, index, taxa, pairs = [], [], [], []
    for n in range(3 * PIVOTS):
        species = 100 + n
        photos.append(
            {
                "photo_id": 1000 + n, "observation_id": 5000 + n, "observation_uuid": None,
                "observer_id": n % 7, "observer_name": f"=Observer {n % 7}",
                "species_id": species, "position": 0, "grade": "research",
                "license": "CC-BY-4.0" if n % 2 else "CC0-1.0",
                "attribution": f"(c) Observer {n % 7}, \"{n}\"", "url": f"demo:photo/{n}",
            }
        )  # fmt: skip
        index.append(
            {"photo_id": 1000 + n, "sha256": f"{n:064x}", "phash": keyed_hash(0, "phash", n),
             "width": 8, "height": 8, "bytes": 10}
        )  # fmt: skip
        names = {
            f"{rank}_id": 10_000 * k + n
            for k, rank in enumerate(("genus", "family", "order", "class"), start=1)
        }
        taxa.append(
            {"species_id": species, "species": f"Avis nova{n}", "common_name": f"New Bird {n}",
             **names, **{rank: f"{rank}{n}" for rank in ("genus", "family", "order", "class")}}
        )  # fmt: skip
    for n in range(2 * PIVOTS):
        pivot, branch = n // 2, PIVOTS + n
        pairs.append(
            {"pair_id": f"{1000 + pivot}-{1000 + branch}", "pivot_index": pivot,
             "pivot_photo_id": 1000 + pivot, "branch_photo_id": 1000 + branch,
             "pivot_species_id": 100 + pivot, "branch_species_id": 100 + branch,
             "level_requested": "visual" if n % 2 else "order", "level_actual": "order",
             "draw": 0, "distance": None, "neighbour_rank": None}
        )  # fmt: skip
    write_parquet(layout.catalog / "photos.parquet", pa.Table.from_pylist(photos, schema=PHOTOS))
    write_parquet(layout.catalog / "taxa.parquet", pa.Table.from_pylist(taxa, schema=TAXA))
    write_parquet(layout.photos / "index.parquet", pa.Table.from_pylist(index, PHOTO_INDEX))
    write_parquet(layout.sample("main") / "pairs.parquet", pa.Table.from_pylist(pairs, PAIRS))
    write_manifest(layout.sample("main"), Manifest("sample", {}, {}, counts={"pairs": len(pairs)}))
    _judge(layout, [str(pair["pair_id"]) for pair in pairs])


def _judge(layout: Layout, pair_ids: list[str]) -> None:
    engine = open_store(layout, load_config(layout.config))
    items, judgments = [], []
    for n, pair_id in enumerate(pair_ids):
        items.append(Item(f"c-{pair_id}", "clarity", pair_id))
        for position in range(5):
            value = "unclear" if n % 10 == 0 and position < 3 else "clear"
            for field in ("clear_1", "clear_2"):
                judgments.append(
                    Judgment("clarity", f"c-{pair_id}", field, f"AJUDGENUMBER{position}", value,
                             position=position, submitted_at=at(position))
                )  # fmt: skip
        if n % 10 == 0:
            continue
        items.append(Item(f"w-{pair_id}", "writing", pair_id))
        for position, writer in enumerate(WRITERS):
            text = f"Animal 1 has a longer bill than Animal 2, by {n} mm. "
            text += f"It is paler, says {position}."
            judgments.append(
                Judgment("writing", f"w-{pair_id}", "paragraph", writer, text, position=position,
                         submitted_at=at(position), simulated=writer.startswith("ASIM"))
            )  # fmt: skip
    with transaction(engine) as connection:
        add_items(connection, items)
        add_judgments(connection, judgments)
    decide(engine, load_protocol("birds-to-words"), "clarity", noon)
    engine.dispose()


def every_file(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*") if p.is_file()}
