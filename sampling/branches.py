"""Draw the branches of each pivot: round robin over the species of a level's pool.

5.2 no. 4: for a level above species, a uniform random permutation of the pool's species, one
observation from each in turn, the next lap only when all had theirs; inside a species uniform over
its observations; of an observation the photo of lowest position. The level `species` is the same
with a pool of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.records import LEVELS
from pairs_to_words.sampling.domain import Domain
from pairs_to_words.sampling.draws import below, hashes, permutation_prefix, walk_permutation
from pairs_to_words.sampling.plan import Plan

Ints = NDArray[np.int64]
SPECIES_ROTATION, CHILD_ROTATION = "species", "child"
_SPECIES = LEVELS[0]
_POOL, _WITHIN = "pool order", "observation order"
_GROUPS, _WITHIN_GROUP = "group order", "order in group"

Take = Callable[[int], bool]
"""Takes an observation (by its place) when the rules allow it, and tells whether it did."""


def propose(
    domain: Domain, plan: Plan, seed: int, species: Ints, pivot_observation: Ints
) -> dict[str, Ints]:
    """Draw all branches of many pivots at once, each pivot by itself.

    Args:
        domain: The domain.
        plan: Draws per level.
        seed: Seed of the sample.
        species: Tree position of each pivot's species; shape (n,).
        pivot_observation: Place of each pivot's observation, never drawn; shape (n,).

    Returns:
        level -> observation places, shape (n, draws); -1 where the first lap cannot give one (a
        pool smaller than the draws, or a species without observations left).
    """
    proposals = {}
    for level, draws in plan.levels.items():
        number = LEVELS.index(level)
        ids = domain.tree.species_id[species]
        if level == _SPECIES:
            proposals[level] = _within_own(domain, seed, species, ids, pivot_observation, draws)
            continue
        random = hashes(seed, _POOL, ids[:, None], number, np.arange(draws)[None, :])
        sizes = domain.tree.pool_sizes(level)[species]
        chosen = permutation_prefix(random, sizes)
        member = domain.tree.pool_members(level, species[:, None], np.maximum(chosen, 0))
        member = np.where(chosen < 0, 0, member)
        rank = below(
            hashes(seed, _WITHIN, ids[:, None], number, domain.tree.species_id[member], 0),
            domain.observation_counts[member],
        )
        place = domain.observation_start[member] + rank
        proposals[level] = np.where(chosen < 0, -1, place)
    return proposals


def _within_own(
    domain: Domain, seed: int, species: Ints, ids: Ints, pivot: Ints, draws: int
) -> Ints:
    """Draw from the pivot's own species: one more than asked, then the pivot's own taken out."""
    picks = np.arange(draws + 1)[None, :]
    random = hashes(seed, _WITHIN, ids[:, None], 0, ids[:, None], picks)
    chosen = permutation_prefix(random, domain.observation_counts[species])
    place = np.where(chosen < 0, -1, domain.observation_start[species][:, None] + chosen)
    # Stable sort on "is the pivot's own or missing": the others keep their order in front.
    last = (place == pivot[:, None]) | (place < 0)
    order = np.argsort(last, axis=1, kind="stable")
    kept = np.where(np.take_along_axis(last, order, 1), -1, np.take_along_axis(place, order, 1))
    return kept[:, :draws]


def draw_level(
    domain: Domain,
    level: str,
    draws: int,
    seed: int,
    species: int,
    take: Take,
    found: list[int],
    *,
    distinct_species: bool = False,
    rotation: str = SPECIES_ROTATION,
) -> None:
    """Draw one level of one pivot, passing over observations that `take` refuses.

    Without refusals this is the same draw as `propose`. A species that has no acceptable
    observation loses its turn; laps go on until there are `draws` or a lap finds none.

    Args:
        domain: The domain.
        level: The level.
        draws: Observations wanted in all.
        seed: Seed of the sample.
        species: Tree position of the pivot's species.
        take: Takes an observation or refuses it.
        found: Observation places drawn so far (from a stricter round); extended in order.
        distinct_species: Stop after one lap.
        rotation: See `Rules.rotation`.
    """
    turns: dict[int, int] = {}
    for place in found:
        member = int(domain.observation_species[place])
        turns[member] = turns.get(member, 0) + 1
    laps = 1 if distinct_species and level != _SPECIES else draws
    for lap in range(laps):
        for member in _pool(domain, level, seed, species, rotation):
            if len(found) == draws:
                return
            if turns.get(member, 0) > lap:
                continue
            for place in observations_in_order(domain, level, seed, species, member):
                if place not in found and take(place):
                    found.append(place)
                    turns[member] = turns.get(member, 0) + 1
                    break


def observations_in_order(
    domain: Domain, level: str, seed: int, species: int, member: int
) -> Iterator[int]:
    """Yield the observations of species `member` in this pivot's and level's random order."""
    start = int(domain.observation_start[member])
    size = int(domain.observation_start[member + 1]) - start
    keys = (
        int(domain.tree.species_id[species]),
        LEVELS.index(level),
        int(domain.tree.species_id[member]),
    )
    for rank in walk_permutation(seed, _WITHIN, *keys, size=size):
        yield start + rank


def _pool(domain: Domain, level: str, seed: int, species: int, rotation: str) -> Iterator[int]:
    """Yield the species of a pool in the random order in which they have their turns."""
    if level == _SPECIES:
        yield species
        return
    if rotation == CHILD_ROTATION and level != LEVELS[1]:
        yield from _child_rotation(domain, level, seed, species)
        return
    size = int(domain.tree.pool_sizes(level)[species])
    identity = int(domain.tree.species_id[species])
    place = np.array([species])
    for index in walk_permutation(seed, _POOL, identity, LEVELS.index(level), size=size):
        yield int(domain.tree.pool_members(level, place, np.array([index]))[0])


def _child_rotation(domain: Domain, level: str, seed: int, species: int) -> Iterator[int]:
    """Yield a species of each child group in turn (such as each genus of the family), then again.

    Groups are in random order, and so are the species inside each: a large genus is asked no more
    often than a small one until the small one has no species left.
    """
    tree, below = domain.tree, LEVELS[LEVELS.index(level) - 1]
    size = int(tree.pool_sizes(level)[species])
    members = tree.pool_members(level, np.array([species]), np.arange(size))
    keys = int(tree.species_id[species]), LEVELS.index(level)
    order = np.argsort(hashes(seed, _WITHIN_GROUP, *keys, tree.species_id[members]), kind="stable")
    members = members[order]
    group = tree.low[below][members]
    turn = np.empty(size, np.int64)
    for start in np.unique(group):
        inside = np.flatnonzero(group == start)
        turn[inside] = np.arange(len(inside))
    # A group is known by the id of its first species.
    of_group = hashes(seed, _GROUPS, *keys, tree.species_id[group])
    yield from members[np.lexsort([of_group, turn])].tolist()
