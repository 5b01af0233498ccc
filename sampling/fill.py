"""Fill one pivot after the other: its photo, its visual neighbours, its draws per level.

Pivots are filled in the order of the pivot permutation, and each sees what the ones before it used.
So a longer sample begins with the shorter one, and the result does not depend on the order in which
a computer gets to the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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


@dataclass
class Used:
    """Photos and observations that the sample uses so far (places in the domain)."""

    photos: set[int] = field(default_factory=set)
    observations: set[int] = field(default_factory=set)


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
            tier: 0 keeps every rule; 1 allows another photo of an observation that another pivot
                uses; 2 also allows an observer twice (5.3 no. 9: only when the pool empties).
        """
        if observation in self.observations:
            return False
        observer = int(self.domain.observer[observation])
        again = self.rules.observer_cap and observer in self.observers
        if again and tier < 2:
            return False
        photo = self.photo_of(observation, strict=tier == 0)
        if photo < 0 or self.near_duplicate(photo):
            return False
        self._add(photo, observation, observer, level, again=again)
        return True

    def fill_visual(self, wanted: int, nearest: Sequence[int], *, cap: bool) -> bool:
        """Take the first acceptable of the nearest photos; tell whether `wanted` were found.

        Args:
            wanted: Visual branches.
            nearest: Photo places, nearest first, without the pivot itself.
            cap: Keep the observer cap; without it the whole domain offered too few (5.3 no. 9).
        """
        for rank, photo in enumerate(nearest):
            if len(self.branches) >= wanted:
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
        return len(self.branches) >= wanted

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
        for tier in (0, 1, 2):
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
            if place < 0 or not self.take(place, level, tier=0):
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
        for photo in self._photos():
            self.used.photos.add(photo)
            self.used.observations.add(int(self.domain.photo_observation[photo]))

    def _photos(self) -> Iterator[int]:
        yield self.pivot
        for branch in self.branches:
            yield branch.photo


def fill_levels(row: Row, plan: Plan, proposal: dict[str, Ints] | None, seed: int) -> str:
    """Draw every level of the plan for a row; return the level that ran short, or nothing."""
    for level in LEVELS:
        if level not in plan.levels:
            continue
        offered = None if proposal is None else proposal[level]
        if not row.fill_level(level, plan.levels[level], offered, seed):
            return level
    return ""
