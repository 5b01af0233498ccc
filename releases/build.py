"""Build a release: rows, card, statistics and checksums in a folder that is whole or absent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version as code_version
from pathlib import Path
from typing import Any

import pyarrow as pa
from pairs_to_words.project.config import Config
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_file, remove_leftovers
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import ProtocolDeclaration, ReleaseRule
from pairs_to_words.project.pseudonyms import pseudonym_key
from pairs_to_words.project.records import PARAGRAPHS
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.releases.card import changelog, citation, dataset_card
from pairs_to_words.releases.checksums import SUMS
from pairs_to_words.releases.diff import Difference, difference
from pairs_to_words.releases.frame import Contents, full_manifest, write_release
from pairs_to_words.releases.leaks import refuse_secrets_in_files, refuse_worker_ids
from pairs_to_words.releases.read import Release, open_release
from pairs_to_words.releases.rows import Gathered, gather
from pairs_to_words.releases.schemas import row_kind
from pairs_to_words.releases.statistics import measure
from pairs_to_words.releases.tombstones import read_tombstones
from pairs_to_words.releases.versions import (
    Version,
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
    releases = target.parent
    remove_leftovers(releases)
    sample = sample or config.sample.name
    before = previous_version(releases, wanted)
    earlier = None if before is None else open_release(releases / say_version(before)).all_rows()
    tombstones = read_tombstones(releases)
    key = pseudonym_key(layout)
    with transaction(engine) as connection:
        gathered = gather(
            connection,
            layout,
            config,
            protocol,
            rule,
            sample,
            key,
            pinned=_splits_of(earlier),
            tombstones=tombstones,
        )
        statistics = measure(connection, gathered, rule, protocol)
    refuse_worker_ids(
        {
            "texts": (gathered.paragraphs, "row_id"),
            "judgments": (gathered.judgments, "item_id"),
            "attributions": (pa.Table.from_pylist(gathered.attributions), "photo_id"),
        },
        gathered.worker_ids,
    )
    changed = difference(
        PARAGRAPHS.empty_table() if earlier is None else earlier, gathered.paragraphs
    )
    if not target.exists() and before is not None:
        _refuse_low_version(version, before, changed)
    contents = _contents(
        gathered, layout, config, protocol, rule, version, sample, statistics, before, changed
    )
    manifest = full_manifest(contents)
    if target.exists():
        return Built(_same_release(target, manifest, version), new=False)

    def check(folder: Path) -> None:
        refuse_secrets_in_files(folder, gathered.worker_ids, key.hex())

    contents = replace(contents, tombstones=tombstones, check=check)
    return Built(write_release(target, contents), new=True)


def _contents(
    gathered: Gathered,
    layout: Layout,
    config: Config,
    protocol: ProtocolDeclaration,
    rule: ReleaseRule,
    version: str,
    sample: str,
    statistics: dict[str, Any],
    before: Version | None,
    changed: Difference,
) -> Contents:
    title = config.release.title or protocol.title
    said = None if before is None else say_version(before)
    counts = changed.counts()
    return Contents(
        kind=row_kind("paragraphs"),
        rows=gathered.paragraphs,
        judgments=gathered.judgments,
        attributions=gathered.attributions,
        splits=tuple(rule.splits),
        statistics=statistics,
        manifest={
            "name": protocol.name,
            "title": title,
            "version": version,
            "simulated": bool(statistics["simulated_texts"]),
            "sample": sample,
            "counts": {n: statistics[n] for n in ("pairs", "texts", "photos", "judgments")},
            "inputs": _inputs(layout, sample, before),
            "code_version": code_version("pairs-to-words"),
        },
        texts={
            "README.md": dataset_card(title, version, protocol, rule, statistics),
            "CITATION.cff": citation(title, version, config.release.authors),
            "CHANGELOG.md": changelog(version, said, **counts),
        },
        provenance=_provenance(layout, config, protocol, sample),
    )


def _splits_of(rows: pa.Table | None) -> dict[str, str]:
    """Return pair id -> split of the release before."""
    if rows is None:
        return {}
    return dict(zip(rows["pair_id"].to_pylist(), rows["split"].to_pylist(), strict=True))


def _provenance(
    layout: Layout, config: Config, protocol: ProtocolDeclaration, sample: str
) -> dict[str, str]:
    """Keep what the sample and the rows were made from; never the database address or a key."""
    kept = config.model_copy(update={"project": config.project.model_copy(update={"database": ""})})
    found = {
        "config.json": kept.model_dump_json(indent=2) + "\n",
        "protocol.json": protocol.model_dump_json(indent=2) + "\n",
    }
    sources = {
        "sample-manifest.json": layout.sample(sample) / "manifest.json",
        "sample-funnel.json": layout.sample(sample) / "funnel.json",
        "catalog-manifest.json": layout.catalog / "manifest.json",
    }
    return found | {
        name: source.read_text(encoding="utf-8")
        for name, source in sources.items()
        if source.exists()
    }


def _inputs(layout: Layout, sample: str, before: Version | None) -> dict[str, str]:
    paths = {
        "pairs": layout.sample(sample) / "pairs.parquet",
        "photos": layout.catalog / "photos.parquet",
        "taxa": layout.catalog / "taxa.parquet",
        "photo index": layout.photos / "index.parquet",
    }
    if before is not None:
        paths["release before"] = layout.release(say_version(before)) / SUMS
    return {name: hash_file(path) for name, path in paths.items()}


def _refuse_low_version(version: str, before: Version, changed: Difference) -> None:
    least = changed.least(before)
    if parse_version(version) < least:
        counts = ", ".join(f"{n:,} {what}" for what, n in changed.counts().items())
        raise UserError(
            f"{version} is too low: of the texts since {say_version(before)}, {counts}.",
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
