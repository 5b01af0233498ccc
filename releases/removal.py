"""Remove photos, observers or writers for good: bury, say what is affected, build the next release.

Burying comes first and is enough: a build after a crash leaves them out too, and training refuses
their rows in older releases at once. Running the command again finishes the build.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pairs_to_words.project.config import Config
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import ProtocolDeclaration
from pairs_to_words.project.pseudonyms import pseudonym, pseudonym_key
from pairs_to_words.releases.build import build_release
from pairs_to_words.releases.read import Release, open_release
from pairs_to_words.releases.tombstones import (
    Tombstone,
    add_tombstones,
    buried_rows,
    observer_hash,
    photo_hash,
    writer_hash,
)
from pairs_to_words.releases.versions import least_version, released_versions, say_version
from sqlalchemy import Engine


@dataclass(frozen=True)
class Removal:
    """What is to be removed.

    Attributes:
        tombstones: One per photo, observer and writer; photos of an observer included.
        affected: Version -> number of its rows that go.
    """

    tombstones: tuple[Tombstone, ...]
    affected: dict[str, int]


def plan_removal(
    layout: Layout,
    *,
    photos: Sequence[int],
    observers: Sequence[str],
    workers: Sequence[str],
    today: date,
) -> Removal:
    """Return what a removal would do; nothing is written.

    Args:
        photos: Photo ids.
        observers: Names or ids as in the catalogue.
        workers: Worker ids, or pseudonyms as a release shows them.
        today: The day that the tombstones carry.

    Raises:
        UserError: Nothing was named, or a photo or observer is not in the catalogue.
    """
    if not (photos or observers or workers):
        raise UserError("Nothing to remove was named.", "Use --photo, --observer or --worker.")
    key = pseudonym_key(layout)
    columns = ["photo_id", "observer_id", "observer_name"]
    catalog = read_parquet(layout.catalog / "photos.parquet", columns).to_pandas()
    unknown = sorted(set(photos) - set(catalog["photo_id"]))
    if unknown:
        raise UserError(f"Photo {unknown[0]} is not in the catalogue.", "Give a photo_id.")
    day = today.isoformat()
    stones = [Tombstone("photo", photo_hash(i), day) for i in photos]
    for observer in observers:
        named = (catalog["observer_name"] == observer) | (
            catalog["observer_id"].astype(str) == observer
        )
        if not named.any():
            raise UserError(f"Observer {observer!r} is not in the catalogue.", "Give name or id.")
        ids = catalog.loc[named, "observer_id"].unique()
        stones += [Tombstone("observer", observer_hash(key, int(i)), day) for i in ids]
        stones += [
            Tombstone("photo", photo_hash(int(i)), day) for i in catalog.loc[named, "photo_id"]
        ]
    for worker in workers:
        shown = worker if worker.startswith("w-") else pseudonym(key, worker)
        stones.append(Tombstone("writer", writer_hash(shown), day))
    releases = layout.release("0.0.0").parent
    affected = {}
    for version in map(say_version, released_versions(releases)):
        rows = open_release(releases / version).all_rows()
        if count := int(buried_rows(rows, stones).sum()):
            affected[version] = count
    return Removal(tuple(stones), affected)


def remove(
    engine: Engine,
    layout: Layout,
    config: Config,
    protocol: ProtocolDeclaration,
    removal: Removal,
    *,
    sample: str | None = None,
) -> Release | None:
    """Bury what was planned and build the next release when one is affected.

    Returns:
        The new release; None when no release held any of it.
    """
    releases = layout.release("0.0.0").parent
    releases.mkdir(parents=True, exist_ok=True)
    add_tombstones(releases, removal.tombstones)
    present = released_versions(releases)
    if not removal.affected or say_version(present[-1]) not in removal.affected:
        return None
    version = say_version(least_version(present[-1], moved=0, changed=1))
    return build_release(engine, layout, config, protocol, version, sample=sample).release
