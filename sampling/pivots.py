"""Which species become pivots: enough observations, enough to compare with, then at random.

Pivots are the first n accepted species of one seeded uniform permutation of the eligible species:
a simple random sample without replacement (sampling definitions, 5.2 nos. 1, 2 and 5).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.records import LEVELS
from pairs_to_words.sampling.domain import Domain
from pairs_to_words.sampling.draws import hashes, permutation_prefix
from pairs_to_words.sampling.plan import Plan

Ints = NDArray[np.int64]

CANDIDATES = 4
"""Photos of a pivot species from different observations that a reviewer sees (paper, B.2)."""


def eligible_species(domain: Domain, min_observations: int) -> NDArray[np.bool_]:
    """Tell which species have at least `min_observations` observations (not photos)."""
    enough: NDArray[np.bool_] = domain.observation_counts >= min_observations
    return enough


def capacity(domain: Domain, level: str, draws: int) -> Ints:
    """Return how many different observations `level` can give each species, up to `draws`.

    5.2 no. 5: cap(s, species) = |O_s| - 1; above it the sum over the pool's species t of
    min(|O_t|, laps), where laps are as many as `draws` needs in the smallest case.
    """
    counts = domain.observation_counts
    if level == LEVELS[0]:
        others: Ints = counts - 1
        return others
    # A pool of one species needs `draws` laps; summing min(|O_t|, draws) is right for any size,
    # because every lap over a larger pool gives at least as much.
    sums = np.concatenate([[0], np.cumsum(np.minimum(counts, draws))])
    below = LEVELS[LEVELS.index(level) - 1]
    tree = domain.tree
    outer = sums[tree.high[level]] - sums[tree.low[level]]
    total: Ints = outer - (sums[tree.high[below]] - sums[tree.low[below]])
    return total


def lacking_levels(
    domain: Domain, plan: Plan, *, distinct_species: bool = False, refill: bool = False
) -> dict[str, NDArray[np.bool_]]:
    """Tell for each level of the plan which species it cannot serve in full (look-ahead).

    Args:
        domain: The domain.
        plan: Draws per level.
        distinct_species: The picks of one level must also be different species.
        refill: The levels above may give what a level lacks.
    """
    lacking = {}
    for level, draws in plan.levels.items():
        short = capacity(domain, level, draws) < draws
        if refill:
            short = _short_with_refill(domain, plan, level)
        if distinct_species and level != LEVELS[0]:
            short |= domain.tree.pool_sizes(level) < draws
        lacking[level] = short
    return lacking


def _short_with_refill(domain: Domain, plan: Plan, level: str) -> NDArray[np.bool_]:
    """Tell which species lack branches for `level` and all above it together.

    A level's lack moves upwards only, so a row can be filled when for every level the pools from it
    upwards hold as many observations as are asked from it upwards.
    """
    above = LEVELS[LEVELS.index(level) :]
    asked = sum(plan.levels.get(name, 0) for name in above)
    total = sum((capacity(domain, name, asked) for name in above), np.zeros(1, np.int64))
    short: NDArray[np.bool_] = total < asked
    return short


def pivot_order(domain: Domain, species: Ints, seed: int) -> Ints:
    """Return tree positions in the seeded random order in which they are asked to be pivots.

    A species' place depends on the seed and its id alone: other species joining the catalogue do
    not reorder those that were there.
    """
    ids = domain.tree.species_id[species]
    return species[np.lexsort([ids, hashes(seed, "pivot order", ids)])]


def pivot_candidates(domain: Domain, species: Ints, seed: int, count: int = CANDIDATES) -> Ints:
    """Return `count` random observations of each species, as observation places.

    Returns:
        Shape (len(species), count); -1 where a species has fewer. The first one is the pivot when
        nobody reviews.
    """
    ids = domain.tree.species_id[species]
    random = hashes(seed, "pivot candidates", ids[:, None], np.arange(count)[None, :])
    chosen = permutation_prefix(random, domain.observation_counts[species])
    return np.where(chosen < 0, -1, domain.observation_start[species][:, None] + chosen)
