"""The species of a catalogue in tree order, so that every level pool is one range minus a part.

Species are sorted by (class, order, family, genus, species). The species that share a rank with s
are then one range [low, high), and the pool of a level is that range without the range of the level
below it (sampling definitions, 5.2 no. 3; measured in scale-measurements 3d).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import LEVELS

Ints = NDArray[np.int64]

_RANKS = ("species", "genus", "family", "order", "class")
_BEYOND = "beyond"
"""The level of two species of different classes, in catalogues that hold several."""


@dataclass(frozen=True)
class Tree:
    """Species in tree order.

    Attributes:
        species_id: Taxon id of each species, in tree order; shape (S,).
        low: Start of the range of species that share the ancestor; level -> shape (S,).
        high: End of that range (exclusive).
    """

    species_id: Ints
    low: dict[str, Ints]
    high: dict[str, Ints]

    def places(self, species_ids: Ints) -> Ints:
        """Return the tree position of each species id; the ids must be in the tree."""
        order = np.argsort(self.species_id, kind="stable")
        return order[np.searchsorted(self.species_id, species_ids, sorter=order)]

    def pool_sizes(self, level: str) -> Ints:
        """Return how many species the pool of `level` holds, for every species."""
        if level == LEVELS[0]:
            return np.ones(len(self.species_id), np.int64)
        below = LEVELS[LEVELS.index(level) - 1]
        outer = self.high[level] - self.low[level]
        return outer - (self.high[below] - self.low[below])

    def pool_members(self, level: str, species: Ints, index: Ints) -> Ints:
        """Return the tree position of member number `index` of each species' pool.

        Args:
            level: `genus` or above.
            species: Tree positions, broadcastable to `index`.
            index: Numbers in [0, pool size).
        """
        below = LEVELS[LEVELS.index(level) - 1]
        place = self.low[level][species] + index
        hole = self.low[below][species]
        width = self.high[below][species] - hole
        return np.where(place >= hole, place + width, place)

    def level_between(self, first: Ints, second: Ints) -> NDArray[np.str_]:
        """Return the nearest level that two species share; `beyond` across classes."""
        result = np.full(np.broadcast(first, second).shape, _BEYOND, dtype="<U8")
        for level in reversed(LEVELS):
            inside = (self.low[level][first] <= second) & (second < self.high[level][first])
            result[inside] = level
        return result


def build_tree(taxa: pa.Table) -> Tree:
    """Sort the species of a taxa table (schema `TAXA`) into a tree.

    Raises:
        UserError: A species twice, or an ancestor with two different parents; names the taxon.
    """
    ids = {rank: taxa[f"{rank}_id"].to_numpy().astype(np.int64) for rank in _RANKS}
    _check(ids, taxa)
    order = np.lexsort([ids[rank] for rank in _RANKS])
    low, high = {}, {}
    changed = np.zeros(len(order), bool)
    if len(order):
        changed[0] = True
    for rank in reversed(_RANKS):
        column = ids[rank][order]
        changed = changed.copy()
        changed[1:] |= column[1:] != column[:-1]
        starts = np.flatnonzero(changed)
        ends = np.append(starts[1:], len(order))
        group = np.cumsum(changed) - 1
        low[rank], high[rank] = starts[group], ends[group]
    return Tree(ids["species"][order], low, high)


def _check(ids: dict[str, Ints], taxa: pa.Table) -> None:
    unique, counts = np.unique(ids["species"], return_counts=True)
    if (counts > 1).any():
        taxon = unique[counts > 1][0]
        raise UserError(
            f"Taxa: species {taxon} is listed {counts.max()} times.", "Expected one row each."
        )
    for child, parent in pairwise(_RANKS):
        pairs = np.unique(np.column_stack([ids[child], ids[parent]]), axis=0)
        taxon, seen = np.unique(pairs[:, 0], return_counts=True)
        if (seen > 1).any():
            which = int(taxon[seen > 1][0])
            row = int(np.flatnonzero(ids[child] == which)[0])
            parents = pairs[pairs[:, 0] == which, 1].tolist()
            raise UserError(
                f"Taxa: {child} {which} ({taxa[child][row].as_py()}) lies in two of its rank "
                f"{parent}: {parents[0]} and {parents[1]}.",
                f"Every {child} needs one {parent}.",
            )
