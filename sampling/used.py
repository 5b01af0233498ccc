"""What a sample uses so far, and whether taking one more would starve a species still to be asked.

In a small catalogue the pivots filled first use up what later ones need: a species with four
observations, or one whose genus holds two more, would seldom become a pivot. Draws therefore spare
such species while others can give (see `fill.SPARING`), which keeps the pivots near a uniform
sample of the species (5.2 no. 1). In a large catalogue this hardly ever refuses anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.records import LEVELS
from pairs_to_words.sampling.domain import Domain
from pairs_to_words.sampling.plan import Plan

Ints = NDArray[np.int64]


class Used:
    """Photos and observations in use, and the free observations of every clade.

    A clade is named by the tree position of its first species. All positions are places in the
    domain.

    Attributes:
        photos: Photos of pivots and branches.
        observations: Their observations.
    """

    def __init__(self, domain: Domain, plan: Plan, asked: Ints):
        """Begin with nothing used; `asked` are the species that will be asked to be pivots."""
        self.photos: set[int] = set()
        self.observations: set[int] = set()
        self._own = 1 + plan.levels.get(LEVELS[0], 0)
        self._clade = {level: domain.tree.low[level].tolist() for level in LEVELS}
        counts = domain.observation_counts
        waiting = np.zeros(len(counts), np.int64)
        waiting[asked] = 1
        self._free = {level: _sums(domain.tree.low[level], counts) for level in LEVELS}
        self._waiting = {level: _sums(domain.tree.low[level], waiting) for level in LEVELS}
        self._pools = [
            _Pools(below, level, plan.levels[level], _children(domain, below, level))
            for below, level in pairwise(LEVELS)
            if plan.levels.get(level)
        ]

    def add(self, photo: int, observation: int, species: int) -> None:
        """Mark a photo as used."""
        self.photos.add(photo)
        if observation in self.observations:
            return
        self.observations.add(observation)
        for level in LEVELS:
            self._free[level][self._clade[level][species]] -= 1
        for pools in self._pools:
            clade = self._clade[pools.level][species]
            if clade in pools.margin:
                pools.margin[clade] -= 1

    def had_turn(self, species: int) -> None:
        """Note that `species` was asked: nothing needs to be spared for it any more."""
        for level in LEVELS:
            self._waiting[level][self._clade[level][species]] -= 1

    def spares(self, species: int, row: Sequence[int]) -> bool:
        """Tell whether one more observation of `species` can go without starving a later pivot.

        Args:
            species: Whose observation would be taken.
            row: Species of the branches that the present pivot already has.
        """
        own = LEVELS[0]
        if self._waiting[own][species]:
            left = self._free[own][species] - row.count(species) - 1
            if left < self._own:
                return False
        return all(self._pool_spares(pools, species, row) for pools in self._pools)

    def _pool_spares(self, pools: _Pools, species: int, row: Sequence[int]) -> bool:
        """Tell it for the pools of one level.

        The pool of a species s in child clade H of clade G is G without H. It has to keep as many
        free observations as the plan draws, for every H but the one that `species` is in.
        """
        clade = self._clade[pools.level]
        group = clade[species]
        # The margin is a lower bound kept up by `add`; it is computed again when it gets tight.
        if pools.margin.get(group, 0) > len(row) + 1:
            return True
        free, waiting = self._free[pools.below], self._waiting[pools.below]
        total = self._free[pools.level][group]
        margins = {
            child: total - free[child] - pools.draws
            for child in pools.children[group]
            if waiting[child]
        }
        pools.margin[group] = min(margins.values(), default=total)
        own = self._clade[pools.below][species]
        in_group = sum(clade[other] == group for other in row)
        return all(margin - in_group - 1 >= 0 for child, margin in margins.items() if child != own)


class _Pools:
    """The pools of one level: how much is drawn, from which clades, and how near to the end."""

    def __init__(self, below: str, level: str, draws: int, children: dict[int, list[int]]):
        self.below, self.level, self.draws, self.children = below, level, draws, children
        self.margin: dict[int, int] = {}


def _sums(clade: Ints, values: Ints) -> list[int]:
    """Return the sum of `values` over each clade, at the place of its first species."""
    sums: list[int] = np.bincount(clade, values, len(clade)).astype(np.int64).tolist()
    return sums


def _children(domain: Domain, below: str, level: str) -> dict[int, list[int]]:
    """Return the child clades of each clade of `level`."""
    children: dict[int, list[int]] = {}
    pairs = np.unique(np.column_stack([domain.tree.low[level], domain.tree.low[below]]), axis=0)
    for parent, child in pairs.tolist():
        children.setdefault(parent, []).append(child)
    return children
