"""The photos that a sample is drawn from, as arrays: tree, observations of each species, photos.

Everything that the draws ask is an offset into these arrays: the observations of species s are
`observation_start[s] : observation_start[s + 1]`, the photos of observation o are
`photo_start[o] : photo_start[o + 1]`, lowest position first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pairs_to_words.project.errors import UserError
from pairs_to_words.sampling.taxonomy import Tree, build_tree

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Domain:
    """Eligible photos, grouped by observation, grouped by species in tree order.

    Attributes:
        tree: The species that have at least one observation.
        observation_start: Offsets of each species' observations; shape (S + 1,).
        observation_id: Shape (O,).
        observer: Observer id of each observation; shape (O,).
        photo_start: Offsets of each observation's photos; shape (O + 1,).
        photo_id: Shape (P,).
        phash: Perceptual hash of each photo; shape (P,); None where no photo index is there.
    """

    tree: Tree
    observation_start: Ints
    observation_id: Ints
    observer: Ints
    photo_start: Ints
    photo_id: Ints
    phash: NDArray[np.uint64] | None = None

    @cached_property
    def observation_counts(self) -> Ints:
        """Observations of each species; shape (S,)."""
        return np.diff(self.observation_start)

    @cached_property
    def observation_species(self) -> Ints:
        """Tree position of each observation's species; shape (O,)."""
        return np.repeat(np.arange(len(self.observation_counts)), self.observation_counts)

    @cached_property
    def photo_observation(self) -> Ints:
        """Observation of each photo; shape (P,)."""
        return np.repeat(np.arange(len(self.observation_id)), np.diff(self.photo_start))

    @cached_property
    def _photo_order(self) -> Ints:
        return np.argsort(self.photo_id, kind="stable")

    def photo_places(self, photo_ids: Ints) -> Ints:
        """Return the place of each photo id, -1 for a photo that is not in the domain."""
        order = self._photo_order
        if not len(order):
            return np.full(len(photo_ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self.photo_id, photo_ids, sorter=order), len(order) - 1)
        place = order[at]
        return np.where(self.photo_id[place] == photo_ids, place, -1)


def build_domain(photos: pa.Table, taxa: pa.Table, photo_index: pa.Table | None = None) -> Domain:
    """Group eligible photos (schema `PHOTOS`) by observation and species.

    Species without photos are no part of the domain: no level pool contains them.

    Raises:
        UserError: A photo twice, an observation of two species, or a species that taxa lacks.
    """
    columns = {
        name: photos[name].to_numpy().astype(np.int64)
        for name in ("photo_id", "observation_id", "observer_id", "species_id", "position")
    }
    _check_photos(columns, taxa)
    known = taxa["species_id"].to_numpy()
    tree = build_tree(taxa.filter(pa.array(np.isin(known, columns["species_id"]))))
    place = tree.places(columns["species_id"])
    order = np.lexsort([columns["photo_id"], columns["position"], columns["observation_id"], place])
    place, photo = place[order], columns["photo_id"][order]
    observation = columns["observation_id"][order]
    first = np.ones(len(order), bool)
    first[1:] = (observation[1:] != observation[:-1]) | (place[1:] != place[:-1])
    starts = np.flatnonzero(first)
    counts = np.bincount(place[starts], minlength=len(tree.species_id))
    return Domain(
        tree=tree,
        observation_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        observation_id=observation[starts],
        observer=columns["observer_id"][order][starts],
        photo_start=np.append(starts, len(order)).astype(np.int64),
        photo_id=photo,
        phash=None if photo_index is None else _hashes_of(photo, photo_index),
    )


def _check_photos(columns: dict[str, Ints], taxa: pa.Table) -> None:
    unique, counts = np.unique(columns["photo_id"], return_counts=True)
    if (counts > 1).any():
        raise UserError(
            f"Photos: photo {unique[counts > 1][0]} is listed {counts.max()} times.",
            "Expected one row per photo; build the catalogue again.",
        )
    missing = np.setdiff1d(columns["species_id"], taxa["species_id"].to_numpy())
    if len(missing):
        raise UserError(
            f"Photos: species {missing[0]} is not in the taxa table.", "Build the catalogue again."
        )
    pairs = np.unique(np.column_stack([columns["observation_id"], columns["species_id"]]), axis=0)
    twice = pairs[1:, 0][pairs[1:, 0] == pairs[:-1, 0]]
    if len(twice):
        raise UserError(
            f"Photos: observation {twice[0]} has photos of two species.",
            "Expected one species per observation; build the catalogue again.",
        )


def _hashes_of(photo_ids: Ints, index: pa.Table) -> NDArray[np.uint64]:
    known, values = index["photo_id"].to_numpy(), index["phash"].to_numpy().astype(np.uint64)
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known, photo_ids, sorter=order), len(known) - 1)]
    if len(known) == 0 or (known[at] != photo_ids).any():
        raise UserError("Some photos have no file.", "Run `collect photos` again.")
    result: NDArray[np.uint64] = values[at]
    return result
