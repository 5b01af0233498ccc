"""Build a release: rows, card, statistics and checksums in a folder that is whole or absent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version as code_version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pairs_to_words.project.config import Config
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import (
    atomic_directory,
    hash_file,
    remove_leftovers,
    write_json,
    write_parquet,
    write_text,
)
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import ProtocolDeclaration, ReleaseRule
from pairs_to_words.project.pseudonyms import pseudonym_key
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.releases.card import attributions_csv, changelog, citation, dataset_card
from pairs_to_words.releases.checksums import MANIFEST, hash_files, write_sums
from pairs_to_words.releases.leaks import refuse_worker_ids
from pairs_to_words.releases.read import SCHEMA, Release, data_file, open_release
from pairs_to_words.releases.rows import Gathered, gather
from pairs_to_words.releases.statistics import measure
from pairs_to_words.releases.versions import (
    least_version,
    parse_version,
    previous_version,
    released_versions,
    say_version,
)
from sqlalchemy import Engine


@dataclass(frozen=True)
class Built:
    """A release and whether this call made it."""

    release: Release
    new: bool


def build_release(
    engine: Engine,
    layout: Layout,
    config: Config,
    protocol: ProtocolDeclaration,
    version: str,
    *,
    sample: str | None = None,
) -> Built:
    """Build a release from the project's state, sample and catalogue.

    A pure function of these: built again in another process, every byte is the same. A release
    that is there already is never changed.

    Raises:
        UserError: Nothing to release, a licence problem, a version that is there with other
            content or too low for what changed.
    """
    rule = protocol.release
    if rule is None:
        raise UserError(
            f"The protocol {protocol.name} declares no [release].",
            "Only protocols that say what a released row is can be released.",
        )
    wanted = parse_version(version)
    target = layout.release(version)
    remove_leftovers(target.parent)
    sample = sample or config.sample.name
    with transaction(engine) as connection:
        gathered = gather(connection, layout, config, protocol, rule, sample, pseudonym_key(layout))
        statistics = measure(connection, gathered, rule, protocol)
    refuse_worker_ids(gathered)
    before = previous_version(target.parent, wanted)
    difference = _difference(target.parent, before, gathered.paragraphs)
    if not target.exists() and before is not None:
        _refuse_low_version(version, before, difference)
    title = config.release.title or protocol.title
    manifest = {
        "schema": SCHEMA,
        "name": protocol.name,
        "title": title,
        "version": version,
        "splits": list(rule.splits),
        "simulated": bool(statistics["simulated_texts"]),
        "sample": sample,
        "logical_hash": logical_hash([gathered.paragraphs, gathered.judgments]),
        "counts": {name: statistics[name] for name in ("pairs", "texts", "photos", "judgments")},
        "inputs": _inputs(layout, sample),
        "code_version": code_version("pairs-to-words"),
    }
    if target.exists():
        return Built(_same_release(target, manifest, version), new=False)
    with atomic_directory(target) as folder:
        _write_rows(folder, gathered, rule)
        # Not sorted: steps of the funnel and levels have an order of their own.
        write_text(folder / "statistics.json", json.dumps(statistics, indent=2) + "\n")
        write_text(folder / "README.md", dataset_card(title, version, protocol, rule, statistics))
        write_text(folder / "CITATION.cff", citation(title, version, config))
        said = None if before is None else say_version(before)
        write_text(folder / "CHANGELOG.md", changelog(version, said, *difference))
        write_text(folder / "attributions.csv", attributions_csv(gathered.attributions))
        _write_provenance(folder / "provenance", layout, config, protocol, sample)
        write_json(folder / MANIFEST, manifest | {"files": hash_files(folder)})
        write_sums(folder)
    return Built(open_release(target), new=True)


def logical_hash(tables: list[pa.Table]) -> str:
    """Return a hash of rows and columns that no change of file format or library touches."""
    digest = sha256()
    for table in tables:
        digest.update(json.dumps([[f.name, str(f.type)] for f in table.schema]).encode())
        for row in table.to_pylist():
            digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())
    return digest.hexdigest()


def _write_rows(folder: Path, gathered: Gathered, rule: ReleaseRule) -> None:
    for split in rule.splits:
        chosen = gathered.paragraphs.filter(pc.equal(gathered.paragraphs["split"], split))
        write_parquet(folder / data_file(split), chosen.combine_chunks())
    write_parquet(folder / "judgments.parquet", gathered.judgments)


def _write_provenance(
    folder: Path, layout: Layout, config: Config, protocol: ProtocolDeclaration, sample: str
) -> None:
    """Keep what the sample and the rows were made from; never the database address or a key."""
    kept = config.model_copy(update={"project": config.project.model_copy(update={"database": ""})})
    write_json(folder / "config.json", json.loads(kept.model_dump_json()))
    write_json(folder / "protocol.json", json.loads(protocol.model_dump_json()))
    sources = {
        "sample-manifest.json": layout.sample(sample) / "manifest.json",
        "sample-funnel.json": layout.sample(sample) / "funnel.json",
        "catalog-manifest.json": layout.catalog / "manifest.json",
    }
    for name, source in sources.items():
        if source.exists():
            write_text(folder / name, source.read_text(encoding="utf-8"))


def _inputs(layout: Layout, sample: str) -> dict[str, str]:
    paths = {
        "pairs": layout.sample(sample) / "pairs.parquet",
        "photos": layout.catalog / "photos.parquet",
        "taxa": layout.catalog / "taxa.parquet",
        "photo index": layout.photos / "index.parquet",
    }
    return {name: hash_file(path) for name, path in paths.items()}


def _difference(
    releases: Path, before: tuple[int, int, int] | None, rows: pa.Table
) -> tuple[int, int, int]:
    """Return texts added, removed and moved to another split since the release before."""
    now = _texts(rows)
    if before is None:
        return len(now), 0, 0
    release = open_release(releases / say_version(before))
    then: dict[str, tuple[str, str]] = {}
    for split in release.splits:
        then |= _texts(release.rows(split))
    added = sum(then.get(i, ("", ""))[1] != text for i, (_split, text) in now.items())
    removed = sum(now.get(i, ("", ""))[1] != text for i, (_split, text) in then.items())
    moved = sum(i in then and then[i][0] != split for i, (split, _text) in now.items())
    return added, removed, moved


def _texts(rows: pa.Table) -> dict[str, tuple[str, str]]:
    columns = rows.select(["row_id", "split", "text"]).to_pylist()
    return {row["row_id"]: (row["split"], row["text"]) for row in columns}


def _refuse_low_version(
    version: str, before: tuple[int, int, int], difference: tuple[int, int, int]
) -> None:
    added, removed, moved = difference
    least = least_version(before, moved=moved, changed=added + removed)
    if parse_version(version) < least:
        raise UserError(
            f"{version} is too low: since {say_version(before)}, {added:,} texts were added, "
            f"{removed:,} removed and {moved:,} moved to another split.",
            f"Build {say_version(least)}.",
        )


def _same_release(target: Path, manifest: dict[str, Any], version: str) -> Release:
    release = open_release(target)
    present = {name: release.manifest.get(name) for name in manifest}
    if present != manifest:
        differs = ", ".join(name for name in manifest if present[name] != manifest[name])
        newest = released_versions(target.parent)[-1]
        raise UserError(
            f"Release {version} is there with other content ({differs}); a release never changes.",
            f"Build {say_version(least_version(newest, moved=0, changed=1))}.",
        )
    return release
