"""Fill one pivot after the other: its photo, its visual neighbours, its draws per level.

Pivots are filled in the order of the pivot permutation, and each sees what the ones before it used.
So a longer sample begins with the shorter one, and the result does not depend on the order in which
a computer gets to the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.records import LEVELS, VISUAL
from pairs_to_words.sampling.branches import draw_level
from pairs_to_words.sampling.domain import Domain
from pairs_to_words.sampling.plan import Plan

Ints = NDArray[np.int64]


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
        observer_cap: At most one photo per observer in a pivot's row, the pivot's included (no. 9).
    """

    min_observations: int = 4
    distinct_species: bool = False
    reuse_photos: bool = False
    allow_same_observation: bool = False
    phash_distance: int | None = 4
    observer_cap: bool = True


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


class Used:
    """What the sample uses so far, as places in the domain.

    Attributes:
        photos: Photos of pivots and branches.
        observations: Their observations.
        free: Observations of each species that nobody uses.
        needed: Observations that a species still to be asked needs as a pivot; 0 after its turn.
    """

    def __init__(self, domain: Domain, plan: Plan, asked: Ints):
        self.photos: set[int] = set()
        self.observations: set[int] = set()
        self.free: list[int] = domain.observation_counts.tolist()
        self.needed = [0] * len(self.free)
        for species in asked.tolist():
            self.needed[species] = 1 + plan.levels.get(LEVELS[0], 0)

    def add(self, photo: int, observation: int, species: int) -> None:
        """Mark a photo as used."""
        self.photos.add(photo)
        if observation not in self.observations:
            self.observations.add(observation)
            self.free[species] -= 1


class Row:
    """One pivot and the branches found for it so far.

    A small mutable object because every rule asks what this pivot already has; nothing is written
    to `Used` before the row is complete.
    """

    def __init__(self, domain: Domain, rules: Rules, used: Used, pivot: int):
        self.domain, self.rules, self.used, self.pivot = domain, rules, used, pivot
        observation = int(domain.photo_observation[pivot])
        self.observation = observation
        self.species = int(domain.observation_species[observation])
        self.observations = set() if rules.allow_same_observation else {observation}
        self.observers = {int(domain.observer[observation])}
        self.branches: list[Branch] = []
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
        """Tell whether `photo` looks the same as the pivot by perceptual hash."""
        hashes = self.domain.phash
        if hashes is None or self.rules.phash_distance is None:
            return False
        differing = int(hashes[photo] ^ hashes[self.pivot]).bit_count()
        if differing > self.rules.phash_distance:
            return False
        self.near_duplicates += 1
        return True

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
        """Tell whether `species` can lose one more observation and still become a pivot."""
        if self.rules.reuse_photos or species == self.species:
            return True
        taken = sum(
            self.domain.observation_species[self.domain.photo_observation[branch.photo]] == species
            for branch in self.branches
        )
        return bool(self.used.free[species] - taken > self.used.needed[species])

    def fresh(self) -> Row:
        """Return an empty row of the same pivot."""
        return Row(self.domain, self.rules, self.used, self.pivot)

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
        found: list[int] = []
        for tier in (SPARING, UNSPARING, SHARING, RELAXED):
            draw_level(
                self.domain,
                level,
                draws,
                seed,
                self.species,
                lambda place, tier=tier: self.take(place, level, tier=tier),  # type: ignore[misc]
                found,
                distinct_species=self.rules.distinct_species,
            )
            if len(found) == draws:
                return True
        return False

    def _take_all(self, level: str, proposal: Ints) -> bool:
        before = len(self.branches)
        for place in proposal.tolist():
            if place < 0 or not self.take(place, level, tier=SPARING):
                for branch in self.branches[before:]:
                    observation = int(self.domain.photo_observation[branch.photo])
                    self.observations.discard(observation)
                    self.observers.discard(int(self.domain.observer[observation]))
                del self.branches[before:]
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
        self.observations.add(observation)
        self.observers.add(observer)

    def commit(self) -> None:
        """Mark the row's photos and observations as used."""
        for photo in [self.pivot, *(branch.photo for branch in self.branches)]:
            observation = int(self.domain.photo_observation[photo])
            self.used.add(photo, observation, int(self.domain.observation_species[observation]))
