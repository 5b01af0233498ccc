"""Pivots are a simple random sample of species (5.2 no. 1), shown by chi-square over many seeds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pairs_to_words.sampling.domain import Domain, build_domain
from pairs_to_words.sampling.fill import Rules
from pairs_to_words.sampling.pivots import (
    eligible_species,
    lacking_levels,
    pivot_candidates,
    pivot_order,
)
from pairs_to_words.sampling.plan import parse_plan
from pairs_to_words.sampling.sample import sample_pairs
from scipy import stats

PLAN = parse_plan("species=2,genus=2,family=2,order=2,class=2")


def inclusion_p_value(counts: np.ndarray, seeds: int, n: int) -> float:
    """Test equal inclusion of a simple random sample without replacement.

    Counts have variance seeds p (1 - p) and covariances that make the statistic chi-square with
    E - 1 degrees of freedom after the factor (E - 1) / E.
    """
    size = len(counts)
    rate = n / size
    statistic = np.square(counts - seeds * rate).sum() / (seeds * rate * (1 - rate))
    return float(stats.chi2.sf(statistic * (size - 1) / size, size - 1))


def sufficient(domain: Domain) -> np.ndarray:
    good = eligible_species(domain, 4)
    for lacking in lacking_levels(domain, PLAN).values():
        good = good & ~lacking
    return np.flatnonzero(good)


def test_every_sufficient_species_is_equally_likely_over_2000_seeds(domain: Domain) -> None:
    species, n, seeds = sufficient(domain), 30, 2000
    counts = np.zeros(len(domain.tree.species_id), int)
    for seed in range(seeds):
        counts[pivot_order(domain, species, seed)[:n]] += 1
    assert inclusion_p_value(counts[species], seeds, n) > 0.001
    # A species with hundreds of photos and one with four observations have the same rate.
    observations = domain.observation_counts[species]
    common, rare = species[np.argmax(observations)], species[np.argmin(observations)]
    spread = np.sqrt(seeds * n / len(species) * (1 - n / len(species)))
    assert domain.observation_counts[common] >= 5 * domain.observation_counts[rare]
    assert abs(counts[common] - counts[rare]) < 4 * np.sqrt(2) * spread


def test_a_sampler_uniform_over_photos_fails_the_same_test(domain: Domain) -> None:
    species, n, seeds = sufficient(domain), 30, 2000
    photos = np.bincount(domain.observation_species[domain.photo_observation])[species]
    rng = np.random.default_rng(0)
    counts = np.zeros(len(species), int)
    for _ in range(seeds):
        # Exponential race: species in the order of a draw without replacement by photo counts.
        counts[np.argsort(rng.exponential(size=len(species)) / photos)[:n]] += 1
    assert inclusion_p_value(counts, seeds, n) < 1e-9


def test_the_whole_sampler_keeps_species_equally_likely(build: SimpleNamespace) -> None:
    domain = build_domain(*build.catalogue(3, species=120))
    species, n, seeds = sufficient(domain), 3, 600
    counts: dict[int, int] = dict.fromkeys(domain.tree.species_id[species].tolist(), 0)
    for seed in range(seeds):
        pairs = sample_pairs(domain, PLAN, n, seed, rules=Rules(reuse_photos=True)).pairs
        for identity in set(pairs["pivot_species_id"].to_pylist()):
            counts[identity] += 1
    assert sum(counts.values()) == n * seeds
    assert inclusion_p_value(np.array(list(counts.values())), seeds, n) > 0.001


def test_two_seeds_overlap_like_independent_draws(domain: Domain) -> None:
    species, n, repeats = sufficient(domain), 40, 600
    overlaps = [
        len(
            set(pivot_order(domain, species, 2 * i)[:n])
            & set(pivot_order(domain, species, 2 * i + 1)[:n])
        )
        for i in range(repeats)
    ]
    expected = stats.hypergeom(len(species), n, n)
    edges = np.arange(n + 2)
    observed = np.histogram(overlaps, edges)[0].astype(float)
    wanted = expected.pmf(edges[:-1]) * repeats
    bulk = wanted >= 5
    observed = np.append(observed[bulk], observed[~bulk].sum())
    wanted = np.append(wanted[bulk], wanted[~bulk].sum())
    assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 0.001
    # Negative control: the same seed twice does not overlap like that.
    assert expected.sf(n - 1) < 1e-9


def test_the_threshold_counts_observations_not_photos(build: SimpleNamespace) -> None:
    taxa = build.taxa([(1, 10, 20, 30, 3), (2, 10, 20, 30, 3)])
    # Species 1: three observations with ten photos; species 2: four with one each.
    observations = [(1, i) for i in range(3)] + [(2, i) for i in range(4)]
    domain = build_domain(build.photos(observations, [4, 3, 3, 1, 1, 1, 1]), taxa)
    assert domain.tree.species_id[eligible_species(domain, 4)].tolist() == [2]


def test_candidates_are_four_different_observations_of_the_species(domain: Domain) -> None:
    species = np.flatnonzero(eligible_species(domain, 4))
    candidates = pivot_candidates(domain, species, seed=1)
    assert candidates.shape == (len(species), 4)
    assert (candidates >= 0).all()
    assert (domain.observation_species[candidates] == species[:, None]).all()
    assert all(len(set(row)) == 4 for row in candidates.tolist())


def test_each_observation_is_equally_likely_to_be_the_pivot(domain: Domain) -> None:
    species = int(np.argmax(domain.observation_counts == 12))
    start = domain.observation_start[species]
    firsts = [pivot_candidates(domain, np.array([species]), s)[0, 0] - start for s in range(3000)]
    assert stats.chisquare(np.bincount(firsts, minlength=12)).pvalue > 0.001


@pytest.mark.parametrize("removed", [1, 25])
def test_a_species_that_joins_the_catalogue_does_not_reorder_the_others(
    domain: Domain, removed: int
) -> None:
    species = sufficient(domain)
    fewer = np.delete(species, np.arange(removed) * 3)
    whole = [s for s in pivot_order(domain, species, 7).tolist() if s in set(fewer.tolist())]
    assert pivot_order(domain, fewer, 7).tolist() == whole
