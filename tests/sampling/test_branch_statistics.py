"""The round robin draws what 5.2 no. 4 says, shown by chi-square with negative controls."""

from __future__ import annotations

from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from pairs_to_words.sampling.branches import draw_level, propose
from pairs_to_words.sampling.domain import Domain, build_domain
from pairs_to_words.sampling.draws import hashes, permutation_prefix, walk_permutation
from pairs_to_words.sampling.pivots import pivot_candidates
from pairs_to_words.sampling.plan import parse_plan
from scipy import stats

SEEDS = 4000


@pytest.fixture(scope="module")
def small(build: SimpleNamespace) -> Domain:
    """Genus 10 holds species 1 (the pivot) and 2..6, of which 2 is by far the commonest."""
    taxa = build.taxa(
        [(i, 10, 20, 30, 3) for i in range(1, 7)]
        + [(7, 11, 20, 30, 3), (8, 12, 21, 30, 3), (9, 13, 22, 31, 3)]
    )
    counts = {1: 8, 2: 60, 3: 3, 4: 1, 5: 2, 6: 4, 7: 5, 8: 6, 9: 7}
    observations = [(species, 0) for species, count in counts.items() for _ in range(count)]
    return build_domain(build.photos(observations), taxa)


def genus_draws(domain: Domain, draws: int) -> np.ndarray:
    """Return the drawn species ids at level genus of pivot species 1; shape (SEEDS, draws)."""
    plan = parse_plan(f"genus={draws}")
    species = domain.tree.places(np.array([1]))
    rows = []
    for seed in range(SEEDS):
        pivot = pivot_candidates(domain, species, seed)[:, 0]
        rows.append(propose(domain, plan, seed, species, pivot)["genus"][0])
    return domain.tree.species_id[domain.observation_species[np.array(rows)]]


def pair_p_value(drawn: np.ndarray, species: list[int]) -> float:
    pairs = dict.fromkeys(combinations(species, 2), 0)
    for first, second in np.sort(drawn, axis=1).tolist():
        pairs[(first, second)] += 1
    return float(stats.chisquare(list(pairs.values())).pvalue)


def test_unordered_pairs_of_species_are_equally_likely(small: Domain) -> None:
    drawn = genus_draws(small, 2)
    assert (drawn[:, 0] != drawn[:, 1]).all()
    assert pair_p_value(drawn, [2, 3, 4, 5, 6]) > 0.001  # each 2 / (5 * 4)


def test_a_draw_weighted_by_photos_fails_that_test(small: Domain) -> None:
    weights = small.observation_counts[small.tree.places(np.arange(2, 7))].astype(float)
    rng = np.random.default_rng(0)
    race = rng.exponential(size=(SEEDS, 5)) / weights
    drawn = np.argsort(race, axis=1)[:, :2] + 2
    assert pair_p_value(drawn, [2, 3, 4, 5, 6]) < 1e-9


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_a_species_is_picked_with_probability_draws_over_pool(small: Domain, draws: int) -> None:
    drawn = genus_draws(small, draws)
    counts = np.array([(drawn == species).any(axis=1).sum() for species in range(2, 7)])
    rate = draws / 5
    statistic = np.square(counts - SEEDS * rate).sum() / (SEEDS * rate * (1 - rate)) * 4 / 5
    assert stats.chi2.sf(statistic, 4) > 0.001


def test_observations_of_a_drawn_species_are_equally_likely(small: Domain) -> None:
    plan, species = parse_plan("genus=2"), small.tree.places(np.array([1]))
    start = small.observation_start[small.tree.places(np.array([6]))[0]]
    counts = np.zeros(4, int)
    for seed in range(SEEDS):
        pivot = pivot_candidates(small, species, seed)[:, 0]
        for place in propose(small, plan, seed, species, pivot)["genus"][0]:
            if start <= place < start + 4:
                counts[place - start] += 1
    assert counts.sum() > SEEDS / 3
    assert stats.chisquare(counts).pvalue > 0.001


def test_own_species_draws_are_ordered_pairs_without_the_pivot(small: Domain) -> None:
    plan, species = parse_plan("species=2"), small.tree.places(np.array([1]))
    start = small.observation_start[species[0]]
    pairs = dict.fromkeys(permutations(range(7), 2), 0)
    for seed in range(SEEDS):
        pivot = pivot_candidates(small, species, seed)[:, 0]
        first, second = propose(small, plan, seed, species, pivot)["species"][0] - start
        own = pivot[0] - start
        assert own not in (first, second)
        pairs[(first - (first > own), second - (second > own))] += 1
    assert stats.chisquare(list(pairs.values())).pvalue > 0.001


def test_a_pool_of_one_species_gives_two_different_observations(build: SimpleNamespace) -> None:
    taxa = build.taxa([(1, 10, 20, 30, 3), (2, 10, 20, 30, 3)])
    domain = build_domain(build.photos([(1, i) for i in range(4)] + [(2, 9), (2, 9)]), taxa)
    species = int(domain.tree.places(np.array([1]))[0])
    for seed in range(20):
        found: list[int] = []
        draw_level(domain, "genus", 2, seed, species, lambda _place: True, found)
        assert sorted(domain.observation_species[found].tolist()) == [1, 1]
        assert len(set(found)) == 2
        distinct: list[int] = []
        draw_level(
            domain, "genus", 2, seed, species, lambda _p: True, distinct, distinct_species=True
        )
        assert len(distinct) == 1


def test_a_second_lap_starts_only_when_every_species_had_its_turn(small: Domain) -> None:
    species = int(small.tree.places(np.array([1]))[0])
    for seed in range(50):
        found: list[int] = []
        draw_level(small, "genus", 8, seed, species, lambda _place: True, found)
        drawn = small.tree.species_id[small.observation_species[found]].tolist()
        assert sorted(drawn[:5]) == [2, 3, 4, 5, 6]
        assert 4 not in drawn[5:]  # one observation only
        assert len(set(drawn[5:8])) == 3


def test_drawing_many_pivots_at_once_equals_drawing_one_by_one(domain: Domain) -> None:
    plan = parse_plan("species=2,genus=2,family=2,order=2,class=3")
    species = np.flatnonzero(domain.observation_counts >= 4)
    pivot = pivot_candidates(domain, species, 5)[:, 0]
    at_once = propose(domain, plan, 5, species, pivot)
    backwards = propose(domain, plan, 5, species[::-1], pivot[::-1])
    compared = 0
    for row, (place, own) in enumerate(zip(species.tolist(), pivot.tolist(), strict=True)):
        for level, draws in plan.levels.items():
            assert at_once[level][row].tolist() == backwards[level][-1 - row].tolist()
            if (at_once[level][row] < 0).any():
                continue
            found: list[int] = []
            draw_level(domain, level, draws, 5, place, lambda p, own=own: p != own, found)  # type: ignore[misc]
            assert found == at_once[level][row].tolist()
            compared += 1
    assert compared > 2 * len(species)


def test_permutation_prefixes_are_uniform_and_equal_the_step_by_step_walk() -> None:
    size, picks = 4, 3
    random = hashes(1, "x", np.arange(6000)[:, None], np.arange(picks)[None, :])
    rows = permutation_prefix(random, np.full(6000, size))
    counts = dict.fromkeys(permutations(range(size), picks), 0)
    for row in rows.tolist():
        counts[tuple(row)] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 0.001
    for key in range(200):
        assert list(walk_permutation(1, "x", key, size=size))[:picks] == rows[key].tolist()


def test_a_pool_smaller_than_the_draws_is_padded() -> None:
    rows = permutation_prefix(hashes(0, "x", np.arange(5)[:, None], np.arange(3)), np.full(5, 2))
    assert (rows[:, 2] == -1).all()
    assert (np.sort(rows[:, :2], axis=1) == [0, 1]).all()
