"""Build the embedded domain: catalogue tables, drawn photos, their truth, a contact sheet."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from hashlib import sha256
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
from pairs_to_words.project.files import (
    hash_file,
    read_parquet,
    remove_leftovers,
    write_json,
    write_parquet,
)
from pairs_to_words.project.layout import Layout, photo_file
from pairs_to_words.project.manifest import Manifest, is_current, write_manifest
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.records import PHOTO_INDEX, TRUTH
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.sampling.contact_sheet import write_contact_sheet
from pairs_to_words.sampling.demo.observations import individual_rng, observe
from pairs_to_words.sampling.demo.scenes import Shot, draw_flaw, photograph
from pairs_to_words.sampling.demo.species import choose_species
from pairs_to_words.sampling.demo.traits import TRAIT_NAMES, individual_look, species_look
from pairs_to_words.sampling.perceptual_hash import perceptual_hash

CHUNK = 200
"""Photos drawn between two saves: a killed run repeats at most these per process."""

TRUTH_WITH_TRAITS = pa.schema([*TRUTH, *(pa.field(name, pa.string()) for name in TRAIT_NAMES)])
_PART = pa.schema([*PHOTO_INDEX, *TRUTH_WITH_TRAITS.remove(0)])

Row = dict[str, Any]


def build_demo(
    layout: Layout,
    *,
    species: int,
    seed: int,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> Manifest | None:
    """Build the domain in a project's catalog/ and photos/; None when it is there already.

    The result depends on `species` and `seed` only, byte for byte, not on `workers`. A killed run
    continues where it stopped.

    Raises:
        UserError: More species than the taxonomy has.
    """
    plan = Manifest("catalog demo", inputs={}, config={"species": species}, seed=seed)
    if is_current(layout.catalog, plan):
        return None
    layout.catalog.mkdir(parents=True, exist_ok=True)
    (layout.catalog / "manifest.json").unlink(missing_ok=True)
    taxa = choose_species(species, seed)
    photos, funnel = observe(taxa, seed)
    parts = layout.photos / f"parts-{plan.key[:12]}"
    _draw_all(photos, taxa, seed, layout.photos, parts, workers or os.cpu_count() or 1, progress)
    drawn = pa.concat_tables([read_parquet(path) for path in sorted(parts.glob("*.parquet"))])
    drawn = drawn.sort_by("photo_id")
    tables = {
        layout.catalog / "taxa.parquet": taxa,
        layout.catalog / "photos.parquet": photos,
        layout.catalog / "truth.parquet": drawn.select(TRUTH_WITH_TRAITS.names),
        layout.photos / "index.parquet": drawn.select(PHOTO_INDEX.names),
    }
    for path, table in tables.items():
        write_parquet(path, table)
    write_json(layout.catalog / "funnel.json", funnel)
    _write_sheet(layout, photos, taxa, drawn)
    done = replace(
        plan,
        outputs={p.name: hash_file(p) for p in sorted(layout.catalog.glob("*.*"))},
        counts={
            "species": taxa.num_rows,
            "observations": len(set(photos["observation_id"].to_pylist())),
            "photos": photos.num_rows,
        },
    )
    write_manifest(layout.catalog, done)
    for path in parts.glob("*.parquet"):
        path.unlink()
    parts.rmdir()
    return done


def _draw_all(
    photos: pa.Table,
    taxa: pa.Table,
    seed: int,
    folder: Path,
    parts: Path,
    workers: int,
    progress: Progress,
) -> None:
    parts.mkdir(parents=True, exist_ok=True)
    remove_leftovers(parts)
    names = {row["species_id"]: row for row in taxa.to_pylist()}
    rows = photos.select(["photo_id", "observation_id", "species_id"]).to_pylist()
    jobs = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
    # A part's name holds its first and last photo, so a part of another choice is never taken.
    paths = [parts / f"{job[0]['photo_id']}-{job[-1]['photo_id']}.parquet" for job in jobs]
    with progress("draw photos", total=len(rows), unit="photo") as advance:
        waiting = []
        for job, path in zip(jobs, paths, strict=True):
            if path.exists():
                advance(len(job))
            else:
                waiting.append((job, {r["species_id"]: names[r["species_id"]] for r in job}, path))
        if not waiting:
            return
        with ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), initializer=_end_with_parent
        ) as pool:
            running = [
                pool.submit(_draw_part, job, taxa_of_job, seed, folder, path)
                for job, taxa_of_job, path in waiting
            ]
            for future in running:
                advance(future.result())


def _end_with_parent() -> None:
    """Let a worker process end when its parent is killed: nobody else would tell it."""
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def _draw_part(job: list[Row], taxa: dict[int, Row], seed: int, folder: Path, path: Path) -> int:
    """Draw some photos, then save their rows: a part that exists is complete."""
    looks = {species_id: species_look(taxon, seed) for species_id, taxon in taxa.items()}
    rows = []
    for row in job:
        look = individual_look(
            looks[row["species_id"]], individual_rng(seed, row["observation_id"])
        )
        rng = keyed_rng(seed, "photo", row["photo_id"])
        flaw = draw_flaw(rng)
        photo = photograph(Shot(look, flaw), rng)
        buffer = io.BytesIO()
        photo.save(buffer, "JPEG", quality=88)
        data = buffer.getvalue()
        digest = sha256(data).hexdigest()
        _store(photo_file(folder, digest), data)
        facts = {
            "photo_id": row["photo_id"],
            "sha256": digest,
            "phash": perceptual_hash(photo),
            "width": photo.width,
            "height": photo.height,
            "bytes": len(data),
            "clear": not flaw,
            "flaw": flaw,
        }
        rows.append(facts | look.words())
    os.sync()  # one wait for all photos of the part, before the part says that they are there
    write_parquet(path, pa.Table.from_pylist(rows, schema=_PART))
    return len(rows)


def _store(target: Path, data: bytes) -> None:
    """Put a photo in its place; a killed run leaves no half photo under its name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(target)


def _write_sheet(layout: Layout, photos: pa.Table, taxa: pa.Table, drawn: pa.Table) -> None:
    """Write a sheet whose rows show likeness fade: same species, genus, family, order, class."""
    clear = dict(zip(drawn["photo_id"].to_pylist(), drawn["clear"].to_pylist(), strict=True))
    files = dict(zip(drawn["photo_id"].to_pylist(), drawn["sha256"].to_pylist(), strict=True))
    by_species: dict[int, list[int]] = {}
    for photo_id, species_id, position in zip(
        *(photos[c].to_pylist() for c in ("photo_id", "species_id", "position")), strict=True
    ):
        if clear[photo_id] and position == 0:
            by_species.setdefault(species_id, []).append(photo_id)
    rows_of = {row["species_id"]: row for row in taxa.to_pylist()}
    anchor = _sheet_anchor(rows_of, by_species)
    rows: list[list[tuple[Path, str]]] = []
    for level, members in _sheet_rows(rows_of, by_species, anchor):
        shown = (
            by_species[anchor][:7]
            if level == "species"
            else [by_species[s][0] for s in members[:: max(len(members) // 7, 1)][:7]]
        )
        rows.append(
            [
                (photo_file(layout.photos, files[p]), rows_of[p // 10_000]["common_name"])
                for p in shown
            ]
        )
    titles = ["same species", "same genus", "same family", "same order", "same class"][: len(rows)]
    write_contact_sheet(layout.catalog / "contact-sheet.jpg", rows, titles)


def _sheet_anchor(taxa: dict[int, Row], by_species: dict[int, list[int]]) -> int:
    """Return the species with most clear photos among those with relatives at every level."""

    def relatives(species_id: int) -> int:
        own = taxa[species_id]
        return min(
            sum(1 for s in by_species if taxa[s][rank] == own[rank] and s != species_id)
            for rank in ("genus", "family", "order")
        )

    candidates = sorted(by_species, key=lambda s: (-len(by_species[s]), s))[:40]
    return max(candidates, key=lambda s: (min(relatives(s), 2), len(by_species[s]), -s))


def _sheet_rows(
    taxa: dict[int, Row], by_species: dict[int, list[int]], anchor: int
) -> Iterable[tuple[str, list[int]]]:
    own = taxa[anchor]
    yield "species", [anchor]
    below = "species_id"
    for rank in ("genus", "family", "order", "class"):
        members = [
            s
            for s in by_species
            if taxa[s][f"{rank}_id"] == own[f"{rank}_id"] and taxa[s][below] != own[below]
        ]
        below = f"{rank}_id"
        if members:
            yield rank, members
