"""Check a release to its last row: files, columns, rows, splits, leaks and descriptions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_json
from pairs_to_words.releases.checksums import check_files
from pairs_to_words.releases.croissant import CROISSANT, check_croissant
from pairs_to_words.releases.leaks import find_leaks
from pairs_to_words.releases.logical import logical_hash
from pairs_to_words.releases.read import Release, open_release
from pairs_to_words.releases.schemas import json_schema
from pairs_to_words.releases.tombstones import buried_rows, read_tombstones


def verify_release(path: Path) -> list[str]:
    """Return what is wrong with a release; empty when nothing is.

    Files are compared first; only when all are as listed are their contents looked at, so that a
    release whose lists were forged along with its files is found out by its rows.
    """
    if wrong := check_files(path):
        return wrong
    release = open_release(path, check=False)
    try:
        rows = release.all_rows()
        return [*_row_problems(release, rows), *check_croissant(path)]
    except (UserError, pa.ArrowInvalid, KeyError) as error:
        return [str(error)]


def _row_problems(release: Release, rows: pa.Table) -> list[str]:
    wrong = []
    for split in release.splits:
        strangers = set(release.stored_rows(split)["split"].to_pylist()) - {split}
        if strangers:
            wrong.append(f"data of split {split} holds rows of {', '.join(sorted(strangers))}")
    twice = [i for i, n in Counter(rows["row_id"].to_pylist()).items() if n > 1]
    if twice:
        wrong.append(f"row_id {twice[0]} is there twice")
    if len(rows) != release.manifest["counts"]["texts"]:
        wrong.append(f"{len(rows):,} rows, {release.manifest['counts']['texts']:,} declared")
    if logical_hash([rows, release.judgments()]) != release.manifest["logical_hash"]:
        wrong.append("rows or judgments differ from the logical hash in MANIFEST.json")
    declared = read_json(release.path / "schema.json")
    if declared != json_schema(release.kind.schema, declared["title"]):
        wrong.append("schema.json does not describe the columns")
    if not read_json(release.path / "leaks.json")["allowed"]:
        leaks = find_leaks(release.kind, rows, release.attributions())["blocking"]
        wrong += [
            f"splits share {report['shared']:,} of kind {name}"
            for name, report in leaks.items()
            if report["shared"]
        ]
    buried = int(buried_rows(rows, read_tombstones(release.path)).sum())
    if buried:
        wrong.append(f"{buried:,} rows are of what tombstones.json says was removed")
    if not (release.path / CROISSANT).exists():
        wrong.append(f"{CROISSANT} is missing")
    return wrong
