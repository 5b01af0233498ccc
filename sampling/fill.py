"""Fill one pivot after the other: its photo, its visual neighbours, its draws per level.

Pivots are filled in the order of the pivot permutation, and each sees what the ones before it used.
So a longer sample begins with the shorter one, and the result does not depend on the order in which
a computer gets to the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.records import LEVELS, VISUAL
from pairs_to_words.sampling.branches import SPECIES_ROTATION, draw_level
from pairs_to_words.sampling.domain import Domain
from pairs_to_words.sampling.plan import Plan
from pairs_to_words.sampling.used import Used

Ints = NDArray[np.int64]


NO_REFILL, NEXT_LEVEL = "none", "next-level"


@dataclass(frozen=True)
class Rules:
    """The choices of sampling definitions 5.3; the defaults are its defaults.

    Attributes:
        min_observations: Observations a pivot species needs (5.2 no. 2).
        distinct_species: The picks of one level must be different species (5.2 no. 5).
        reuse_photos: A photo may be used by several pivots (no. 2 of 5.3).
        allow_same_observation: The pivot's own observation may be a branch (no. 3).
        phash_distance: Photos whose perceptual hashes differ in at most this many of 64 bits are
            near-duplicates and never paired; None switches the guard off (no. 5).
        min_distance: Photos whose embeddings are nearer than this squared L2 distance are
            near-duplicates too (no. 5); 0 switches that guard off.
        observer_cap: At most one photo per observer in a pivot's row, the pivot's included (no. 9).
        visual_other_species: Visual branches must be of another species (no. 8).
        rotation: What the round robin rotates over: `species`, or `child` groups such as the genera
            of a family (no. 13).
        refill: `none`, or `next-level`: what a level cannot give comes from the level above
            (no. 6).
    """

    min_observations: int = 4
    distinct_species: bool = False
    reuse_photos: bool = False
    allow_same_observation: bool = False
    phash_distance: int | None = 4
    min_distance: float = 0.0
    observer_cap: bool = True
    visual_other_species: bool = False
    rotation: str = SPECIES_ROTATION
    refill: str = NO_REFILL


FAITHFUL = Rules(
    reuse_photos=True, allow_same_observation=True, phash_distance=None, observer_cap=False
)
"""What the paper states and nothing that it does not: no guard, no cap, photos shared by pivots."""


@dataclass(frozen=True)
class Branch:
    """One branch of a pivot.

    Attributes:
        photo: Place of the photo in the domain.
        level: `visual` or a taxonomic level.
        draw: Number inside (pivot, level), from 0.
        rank: Place in the list of nearest photos, from 0; None for taxonomic draws.
        same_observer: The observer cap had to be relaxed.
        same_observation: Another pivot uses another photo of the same observation.
    """

    photo: int
    level: str
    draw: int
    rank: int | None = None
    same_observer: bool = False
    same_observation: bool = False


SPARING, UNSPARING, SHARING, RELAXED = range(4)
"""Tiers of a draw, each tried when the one before cannot fill the level:

sparing     leaves every species that is still to be asked enough observations to become a pivot;
            in a small catalogue, common species would else crowd the rare ones out of the pivots
unsparing   any observation that no other pivot uses
sharing     also another photo of an observation that another pivot uses
relaxed     also an observer twice (5.3 no. 9: only when the pool empties)
"""


class Row:
    """One pivot and the branches found for it so far.

    A small mutable object because every rule asks what this pivot already has; nothing is written
    to `Used` before the row is complete.
    """

    def __init__(
        self,
        domain: Domain,
        rules: Rules,
        used: Used,
        pivot: int,
        distance: Callable[[int, int], float] | None = None,
    ):
        self.domain, self.rules, self.used, self.pivot = domain, rules, used, pivot
        self.distance = distance
        observation = int(domain.photo_observation[pivot])
        self.observation = observation
        self.species = int(domain.observation_species[observation])
        self.observations = set() if rules.allow_same_observation else {observation}
        self.observers = {int(domain.observer[observation])}
        self.branches: list[Branch] = []
        self.branch_species: list[int] = []
        self.near_duplicates = 0

    def photo_of(self, observation: int, *, strict: bool) -> int:
        """Return the photo that `observation` offers: lowest position first; -1 for none.

        Args:
            observation: Place of the observation.
            strict: Only an observation that no other pivot uses.
        """
        first, end = self.domain.photo_start[observation : observation + 2]
        if self.rules.reuse_photos:
            return int(first) if first != self.pivot else -1
        if strict and observation in self.used.observations:
            return -1
        for photo in range(first, end):
            if photo not in self.used.photos and photo != self.pivot:
                return photo
        return -1

    def near_duplicate(self, photo: int) -> bool:
        """Tell whether `photo` is too like the pivot, by perceptual hash or by embedding."""
        hashes, limit = self.domain.phash, self.rules.phash_distance
        near = False
        if hashes is not None and limit is not None:
            near = int(hashes[photo] ^ hashes[self.pivot]).bit_count() <= limit
        if not near and self.rules.min_distance and self.distance is not None:
            near = self.distance(self.pivot, photo) < self.rules.min_distance
        self.near_duplicates += near
        return near

    def take(self, observation: int, level: str, *, tier: int) -> bool:
        """Draw from `observation` for `level` if the rules allow it.

        Args:
            observation: Place of the observation.
            level: The taxonomic level.
            tier: How much may be given up, see `SPARING` to `RELAXED`.
        """
        if observation in self.observations:
            return False
        observer = int(self.domain.observer[observation])
        again = self.rules.observer_cap and observer in self.observers
        if again and tier < RELAXED:
            return False
        if tier == SPARING and not self._spared(int(self.domain.observation_species[observation])):
            return False
        photo = self.photo_of(observation, strict=tier < SHARING)
        if photo < 0 or self.near_duplicate(photo):
            return False
        self._add(photo, observation, observer, level, again=again)
        return True

    def _spared(self, species: int) -> bool:
        """Tell whether the species still to be asked can do without one of `species`."""
        if self.rules.reuse_photos or species == self.species:
            return True
        return self.used.spares(species, self.branch_species)

    def fresh(self) -> Row:
        """Return an empty row of the same pivot."""
        return Row(self.domain, self.rules, self.used, self.pivot, self.distance)

    def sort_branches(self) -> None:
        """Put the branches in the order of a plan: visual, then species to class."""
        order = {level: number for number, level in enumerate((VISUAL, *LEVELS))}
        self.branches.sort(key=lambda branch: (order[branch.level], branch.draw))

    def fill_visual(self, wanted: int, nearest: Sequence[int], *, cap: bool) -> bool:
        """Take the first acceptable of the nearest photos; tell whether `wanted` were found.

        Called again with a longer list or without the cap, it goes on from what it has.

        Args:
            wanted: Visual branches.
            nearest: Photo places, nearest first, without the pivot itself.
            cap: Keep the observer cap; without it the whole domain offered too few (5.3 no. 9).
        """
        found = sum(branch.level == VISUAL for branch in self.branches)
        for rank, photo in enumerate(nearest):
            if found >= wanted:
                break
            if not self.rules.reuse_photos and photo in self.used.photos:
                continue
            observation = int(self.domain.photo_observation[photo])
            if observation in self.observations:
                continue
            same = self.domain.observation_species[observation] == self.species
            if same and self.rules.visual_other_species:
                continue
            observer = int(self.domain.observer[observation])
            again = self.rules.observer_cap and observer in self.observers
            if (again and cap) or self.near_duplicate(photo):
                continue
            self._add(photo, observation, observer, VISUAL, again=again, rank=rank)
            found += 1
        return found >= wanted

    def fill_levels(
        self, plan: Plan, levels: Sequence[str], proposal: dict[str, Ints] | None, seed: int
    ) -> str:
        """Draw the plan's branches of `levels`; return the level that ran short, or nothing."""
        for level in levels:
            offered = None if proposal is None else proposal[level]
            if not self.fill_level(level, plan.levels[level], offered, seed):
                return level
        return ""

    def fill_level(self, level: str, draws: int, proposal: Ints | None, seed: int) -> bool:
        """Draw `draws` branches of `level`; tell whether the pool gave as many.

        Args:
            level: The taxonomic level.
            draws: How many.
            proposal: What `propose` drew for this pivot, taken when every rule allows it; None
                draws step by step.
            seed: Seed of the sample.
        """
        if proposal is not None and self._take_all(level, proposal):
            return True
        pools = [level]
        if self.rules.refill == NEXT_LEVEL:
            pools += LEVELS[LEVELS.index(level) + 1 :]
        before = len(self.branches)
        for pool in pools:
            missing = draws - (len(self.branches) - before)
            self._draw_from(pool, level, missing, seed)
            if len(self.branches) - before == draws:
                return True
        return False

    def _draw_from(self, pool: str, level: str, draws: int, seed: int) -> None:
        """Draw up to `draws` branches from the pool of one level for a requested `level`."""
        found: list[int] = []
        for tier in (SPARING, UNSPARING, SHARING, RELAXED):
            draw_level(
                self.domain,
                pool,
                draws,
                seed,
                self.species,
                lambda place, tier=tier: self.take(place, level, tier=tier),  # type: ignore[misc]
                found,
                distinct_species=self.rules.distinct_species,
                rotation=self.rules.rotation,
            )
            if len(found) == draws:
                return

    def _take_all(self, level: str, proposal: Ints) -> bool:
        before = len(self.branches)
        for place in proposal.tolist():
            if place < 0 or not self.take(place, level, tier=SPARING):
                for branch in self.branches[before:]:
                    observation = int(self.domain.photo_observation[branch.photo])
                    self.observations.discard(observation)
                    self.observers.discard(int(self.domain.observer[observation]))
                del self.branches[before:], self.branch_species[before:]
                return False
        return True

    def _add(
        self,
        photo: int,
        observation: int,
        observer: int,
        level: str,
        *,
        again: bool,
        rank: int | None = None,
    ) -> None:
        draw = sum(branch.level == level for branch in self.branches)
        elsewhere = observation in self.used.observations
        self.branches.append(Branch(photo, level, draw, rank, again, elsewhere))
        self.branch_species.append(int(self.domain.observation_species[observation]))
        self.observations.add(observation)
        self.observers.add(observer)

    def commit(self) -> None:
        """Mark the row's photos and observations as used."""
        for photo in [self.pivot, *(branch.photo for branch in self.branches)]:
            observation = int(self.domain.photo_observation[photo])
            self.used.add(photo, observation, int(self.domain.observation_species[observation]))
