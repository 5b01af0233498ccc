"""Every open choice of sampling definitions 5.3 can be switched, and `extend` changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pairs_to_words.project.records import LEVELS
from pairs_to_words.sampling.branches import draw_level
from pairs_to_words.sampling.domain import Domain, build_domain
from pairs_to_words.sampling.embeddings import Embeddings
from pairs_to_words.sampling.fill import FAITHFUL, Rules
from pairs_to_words.sampling.pivots import lacking_levels
from pairs_to_words.sampling.plan import parse_plan
from pairs_to_words.sampling.sample import Sample, sample_pairs

PLAN = parse_plan("species=2,genus=2,family=2,order=2,class=2")


def reuse(sample: Sample) -> int:
    pairs = sample.pairs.to_pandas()
    used = Counter([*pairs["branch_photo_id"], *pairs["pivot_photo_id"].unique()])
    return sum(count > 1 for count in used.values())


def test_faithful_lets_pivots_share_photos_and_the_default_does_not(domain: Domain) -> None:
    assert reuse(sample_pairs(domain, PLAN, 60, 0)) == 0
    assert reuse(sample_pairs(domain, PLAN, 60, 0, rules=FAITHFUL)) > 20


def test_faithful_draws_are_the_plain_round_robin_of_each_pivot(domain: Domain) -> None:
    """Nothing that other pivots do reaches a row: each row is what it is alone."""
    many = sample_pairs(domain, PLAN, 60, 0, rules=FAITHFUL).pairs.to_pandas()
    few = sample_pairs(domain, PLAN, 1, 0, rules=FAITHFUL).pairs.to_pandas()
    assert many[many["pivot_index"] == 0].equals(few)
    assert (many["level_requested"] == many["level_actual"]).all()


def test_visual_branches_of_another_species_only(
    domain: Domain, shards: Callable[..., Embeddings]
) -> None:
    # Photos of a species lie together: without the rule the nearest ones are of the same species.
    place = domain.observation_species[domain.photo_observation]
    rows = (place[:, None] + np.random.default_rng(0).random((len(place), 3))).astype(np.float16)
    order = np.argsort(domain.photo_id)
    embeddings = shards(rows[order], domain.photo_id[order], 500)
    plan = parse_plan("visual=2")
    free = sample_pairs(domain, plan, 20, 0, embeddings=embeddings).pairs.to_pandas()
    assert (free["level_actual"] == "species").mean() > 0.5
    rules = Rules(visual_other_species=True)
    other = sample_pairs(domain, plan, 20, 0, rules=rules, embeddings=embeddings).pairs.to_pandas()
    assert (other["level_actual"] != "species").all()


def test_a_distance_limit_refuses_near_duplicates(
    domain: Domain, shards: Callable[..., Embeddings]
) -> None:
    rows = np.random.default_rng(0).normal(size=(len(domain.photo_id), 8))
    embeddings = shards(rows, np.sort(domain.photo_id), 500)
    plan = parse_plan("visual=2,genus=1")
    plain = sample_pairs(domain, plan, 20, 0, embeddings=embeddings)
    limit = float(np.median(plain.pairs["distance"].to_numpy()))
    guarded = sample_pairs(
        domain, plan, 20, 0, rules=Rules(min_distance=limit), embeddings=embeddings
    )
    assert plain.pairs["distance"].to_numpy().min() < limit
    assert guarded.pairs["distance"].to_numpy().min() >= limit


def test_rotation_over_child_groups_is_not_dominated_by_a_large_genus(
    build: SimpleNamespace,
) -> None:
    """Family 20: the pivot's genus, a genus of 20 species, and two genera of one."""
    taxa = build.taxa(
        [(1, 10, 20, 30, 3)]
        + [(100 + i, 11, 20, 30, 3) for i in range(20)]
        + [(2, 12, 20, 30, 3), (3, 13, 20, 30, 3)]
    )
    observations = [(s, s) for s in taxa["species_id"].to_pylist() for _ in range(3)]
    domain = build_domain(build.photos(observations), taxa)
    species = int(domain.tree.places(np.array([1]))[0])
    share = {}
    for rotation in ("species", "child"):
        small = 0
        for seed in range(300):
            found: list[int] = []
            draw_level(
                domain, "family", 3, seed, species, lambda _p: True, found, rotation=rotation
            )
            drawn = domain.tree.species_id[domain.observation_species[found]].tolist()
            assert len(set(drawn)) == 3
            small += len({2, 3} & set(drawn))
        share[rotation] = small / 600
    assert share["child"] == 1.0  # three picks, three genera
    assert share["species"] < 0.25  # 3 of 22 species


def test_refill_takes_what_is_missing_from_the_next_level_and_says_so(
    build: SimpleNamespace,
) -> None:
    # Species 1 has no congener; its family holds one other genus.
    taxa = build.taxa([(1, 10, 20, 30, 3), (2, 11, 20, 30, 3), (3, 12, 21, 30, 3)])
    observations = [(s, 10 * s + i) for s, n in [(1, 4), (2, 3), (3, 3)] for i in range(n)]
    domain = build_domain(build.photos(observations), taxa)
    plan = parse_plan("genus=2,family=1")
    place = domain.tree.places(np.array([1]))[0]
    assert lacking_levels(domain, plan)["genus"][place]
    assert not any(short[place] for short in lacking_levels(domain, plan, refill=True).values())
    drawn = sample_pairs(domain, plan, 1, 0, rules=Rules(refill="next-level")).pairs.to_pandas()
    assert drawn["level_requested"].tolist() == ["genus", "genus", "family"]
    assert drawn["level_actual"].tolist() == ["family", "family", "family"]
    assert drawn["branch_photo_id"].is_unique


def test_refill_never_reaches_past_what_there_is(build: SimpleNamespace) -> None:
    taxa = build.taxa([(1, 10, 20, 30, 3), (2, 11, 20, 30, 3)])
    domain = build_domain(build.photos([(1, i) for i in range(4)] + [(2, 9)]), taxa)
    place = domain.tree.places(np.array([1]))[0]
    short = lacking_levels(domain, parse_plan("genus=2"), refill=True)
    assert short["genus"][place]


@pytest.mark.parametrize("rules", [Rules(), FAITHFUL], ids=["default", "faithful"])
def test_extending_equals_drawing_all_at_once(domain: Domain, rules: Rules) -> None:
    whole = sample_pairs(domain, PLAN, 50, 3, rules=rules)
    first = sample_pairs(domain, PLAN, 30, 3, rules=rules)
    earlier = (first.pairs, first.draws)
    assert sample_pairs(domain, PLAN, 20, 3, rules=rules, earlier=earlier).pairs.equals(whole.pairs)


def test_extending_keeps_earlier_pairs_when_the_catalogue_has_changed(
    build: SimpleNamespace, catalogue: tuple[pa.Table, pa.Table], domain: Domain
) -> None:
    first = sample_pairs(domain, PLAN, 30, 3)
    photos, taxa = catalogue
    gone = set(first.pairs["branch_photo_id"].to_pylist()[:40])
    left = [photo not in gone for photo in photos["photo_id"].to_pylist()]
    changed = build_domain(photos.filter(pa.array(left)), taxa)
    more = sample_pairs(changed, PLAN, 10, 3, earlier=(first.pairs, first.draws))
    assert more.pairs.slice(0, first.pairs.num_rows).equals(first.pairs)
    assert more.pairs["pivot_index"].to_pylist()[-1] == 39
    assert reuse(more) == 0
    assert len(set(more.pairs["pivot_species_id"].to_pylist())) == 40


def test_a_small_catalogue_does_not_crowd_rare_species_out_of_the_pivots(domain: Domain) -> None:
    """At half of all species as pivots, rare and common ones are asked and accepted alike."""
    rates = []
    counts = np.zeros(len(domain.tree.species_id))
    for seed in range(25):
        pairs = sample_pairs(domain, PLAN, 70, seed, rules=Rules(observer_cap=False)).pairs
        counts[domain.tree.places(np.unique(pairs["pivot_species_id"].to_numpy()))] += 1
    good = domain.observation_counts >= 4
    for short in lacking_levels(domain, PLAN).values():
        good &= ~short
    few = good & (domain.observation_counts <= 5)
    many = good & (domain.observation_counts > 10)
    rates = [counts[few].mean() / 25, counts[many].mean() / 25]
    assert min(rates) / max(rates) > 0.85
    assert set(LEVELS) >= set(PLAN.levels)
