"""Write a release folder, whole or not at all: the same frame for built and imported releases.

data/<split>-0000i-of-0000n.parquet   rows, one schema in all splits, sorted by row_id
judgments.parquet                     every raw judgment
attributions.csv                      licence and author of each photo
schema.json  croissant.json           columns for programs
README.md  DATASHEET.md  plots/       the same for people; every number measured
statistics.json  leaks.json           measured numbers; what splits share
tombstones.json  provenance/          what was removed; what it was made from
CITATION.cff  CHANGELOG.md  MANIFEST.json  SHA256SUMS
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from pairs_to_words.project.files import (
    atomic_directory,
    remove_leftovers,
    write_json,
    write_parquet,
    write_text,
)
from pairs_to_words.releases.card import attributions_csv
from pairs_to_words.releases.checksums import MANIFEST, hash_files, write_sums
from pairs_to_words.releases.croissant import CROISSANT, croissant
from pairs_to_words.releases.datasheet import datasheet
from pairs_to_words.releases.leaks import find_leaks, refuse_leaks
from pairs_to_words.releases.logical import logical_hash
from pairs_to_words.releases.plots import draw_plots
from pairs_to_words.releases.read import SCHEMA, Release, data_file, open_release
from pairs_to_words.releases.schemas import RowKind, json_schema
from pairs_to_words.releases.tombstones import TOMBSTONES, Tombstone, as_json

ROWS_PER_FILE = 500_000


@dataclass(frozen=True)
class Contents:
    """What goes into a release.

    Attributes:
        kind: The kind of rows.
        rows: All splits together, schema of the kind, sorted by row_id.
        judgments: Schema rows.JUDGMENTS.
        attributions: One row per photo.
        splits: Split names in order.
        statistics: Flat numbers and mappings.
        manifest: Name, title, version and what else identifies the release.
        texts: File name -> text: README.md, CITATION.cff, CHANGELOG.md.
        provenance: File name -> JSON text.
        tombstones: What was removed for good.
        check: Looks at the finished folder before it becomes the release; raises to stop.
    """

    kind: RowKind
    rows: pa.Table
    judgments: pa.Table
    attributions: Sequence[Mapping[str, Any]]
    splits: tuple[str, ...]
    statistics: Mapping[str, Any]
    manifest: Mapping[str, Any]
    texts: Mapping[str, str]
    provenance: Mapping[str, str] = field(default_factory=dict)
    tombstones: Sequence[Tombstone] = ()
    check: Callable[[Path], None] = lambda _folder: None


def full_manifest(contents: Contents) -> dict[str, Any]:
    """Return MANIFEST.json without its list of files.

    The canary is a string that no other text holds: whoever finds it in a model's output or a
    crawl knows that this release was in there.
    """
    content = logical_hash([contents.rows, contents.judgments])
    return {
        "schema": SCHEMA,
        "rows": contents.kind.name,
        "splits": list(contents.splits),
        "logical_hash": content,
        "canary": f"pairs-to-words canary {UUID(hex=content[:32], version=4)}",
        **contents.manifest,
    }


def write_release(target: Path, contents: Contents, *, allow_leaks: bool = False) -> Release:
    """Write a release aside, check it and rename it into place.

    Raises:
        UserError: `target` is there already, or splits share what they may not.
    """
    leaks = find_leaks(contents.kind, contents.rows, contents.attributions)
    if not allow_leaks:
        refuse_leaks(leaks)
    manifest = full_manifest(contents)
    title = f"{manifest['title']} {manifest['version']}"
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target.parent)
    with atomic_directory(target) as folder:
        _write_rows(folder, contents)
        # Not sorted: steps of the funnel and levels have an order of their own.
        write_text(folder / "statistics.json", json.dumps(contents.statistics, indent=2) + "\n")
        write_json(folder / "schema.json", json_schema(contents.kind.schema, title))
        write_json(folder / "leaks.json", leaks | {"allowed": allow_leaks})
        write_json(folder / TOMBSTONES, as_json(contents.tombstones))
        write_text(folder / "attributions.csv", attributions_csv(contents.attributions))
        for name, text in contents.texts.items():
            write_text(folder / name, text)
        for name, text in contents.provenance.items():
            write_text(folder / "provenance" / name, text)
        draw_plots(folder / "plots", contents.statistics)
        write_text(folder / "DATASHEET.md", datasheet(manifest, contents.statistics, leaks))
        files = hash_files(folder)
        write_json(folder / CROISSANT, croissant(manifest, contents.kind, files))
        files |= hash_files(folder, only=CROISSANT)
        listed = {name: files[name] for name in sorted(files)}
        write_json(folder / MANIFEST, manifest | {"files": listed})
        write_sums(folder)
        contents.check(folder)
    return open_release(target)


def _write_rows(folder: Path, contents: Contents) -> None:
    for split in contents.splits:
        chosen = contents.rows.filter(pc.equal(contents.rows["split"], split)).combine_chunks()
        # An empty split has no file: `datasets` cannot load an empty Parquet file.
        count = -(-len(chosen) // ROWS_PER_FILE)
        for number in range(count):
            part = chosen.slice(number * ROWS_PER_FILE, ROWS_PER_FILE)
            write_parquet(folder / data_file(split, number, count), part)
    write_parquet(folder / "judgments.parquet", contents.judgments)
