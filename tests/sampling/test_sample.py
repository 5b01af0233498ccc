"""A finished sample keeps every rule of sampling definitions 5.2 and the defaults of 5.3."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.records import LEVELS, PAIRS
from pairs_to_words.sampling.domain import Domain, build_domain
from pairs_to_words.sampling.embeddings import Embeddings, embeddings_of, squared_distances
from pairs_to_words.sampling.fill import Rules
from pairs_to_words.sampling.pivots import eligible_species, lacking_levels
from pairs_to_words.sampling.plan import parse_plan
from pairs_to_words.sampling.sample import Sample, sample_pairs

PLAN = parse_plan("visual=2,species=2,genus=2,family=2,order=2,class=2")
PIVOTS = 40


@pytest.fixture(scope="module")
def embeddings(domain: Domain, tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    folder = tmp_path_factory.mktemp("embeddings")
    rows = np.random.default_rng(1).normal(size=(len(domain.photo_id), 24)).astype(np.float16)
    files = []
    for start in range(0, len(rows), 200):
        files.append(folder / f"shard-{start:05d}.npy")
        np.save(files[-1], rows[start : start + 200])
    return embeddings_of(np.sort(domain.photo_id), files)


@pytest.fixture(scope="module")
def sample(domain: Domain, embeddings: Embeddings) -> Sample:
    return sample_pairs(domain, PLAN, PIVOTS, 0, embeddings=embeddings)


@pytest.fixture
def rows(sample: Sample, catalogue: tuple[pa.Table, pa.Table]) -> pd.DataFrame:
    """Pairs with observation and observer of both photos."""
    photos = catalogue[0].to_pandas().set_index("photo_id")
    pairs = sample.pairs.to_pandas()
    for side in ("pivot", "branch"):
        found = photos.loc[pairs[f"{side}_photo_id"]]
        pairs[f"{side}_observation"] = found["observation_id"].to_numpy()
        pairs[f"{side}_observer"] = found["observer_id"].to_numpy()
        assert (found["species_id"].to_numpy() == pairs[f"{side}_species_id"]).all()
    return pairs


def test_every_pivot_has_the_whole_plan_in_order(sample: Sample) -> None:
    assert sample.pairs.schema == PAIRS
    assert sample.pairs.num_rows == PIVOTS * 12
    wanted = [level for level in ("visual", *LEVELS) for _ in range(2)]
    for _, row in sample.pairs.to_pandas().groupby("pivot_index"):
        assert row["level_requested"].tolist() == wanted
        assert row["draw"].tolist() == [0, 1] * 6
        assert row["pivot_photo_id"].nunique() == 1


def test_taxonomic_branches_have_the_level_that_was_asked(rows: pd.DataFrame) -> None:
    taxonomic = rows[rows["level_requested"] != "visual"]
    assert (taxonomic["level_requested"] == taxonomic["level_actual"]).all()
    assert rows["level_actual"].isin(LEVELS).all()


def test_pivots_are_different_species_and_photos(rows: pd.DataFrame) -> None:
    pivots = rows.drop_duplicates("pivot_index")
    assert pivots["pivot_species_id"].is_unique
    assert pivots["pivot_photo_id"].is_unique


def test_a_photo_is_used_once_in_the_whole_sample(rows: pd.DataFrame) -> None:
    used = [*rows.drop_duplicates("pivot_index")["pivot_photo_id"], *rows["branch_photo_id"]]
    assert len(used) == len(set(used)) == PIVOTS * 13
    assert rows["pair_id"].is_unique


def test_a_row_has_thirteen_observations_by_thirteen_observers(
    rows: pd.DataFrame, sample: Sample
) -> None:
    relaxed = sample.draws["same_observer"].to_pandas()
    assert relaxed.mean() < 0.02
    for _, row in rows.groupby("pivot_index"):
        observations = [row["pivot_observation"].iloc[0], *row["branch_observation"]]
        assert len(set(observations)) == 13
        kept = row[~relaxed[row.index]]
        assert kept["branch_observer"].is_unique
        assert row["pivot_observer"].iloc[0] not in set(kept["branch_observer"])


def test_levels_above_species_pick_two_different_species_where_there_are_two(
    rows: pd.DataFrame, domain: Domain
) -> None:
    above = rows[~rows["level_requested"].isin(["visual", "species"])]
    for (_, level), row in above.groupby(["pivot_index", "level_requested"]):
        place = domain.tree.places(row["pivot_species_id"].to_numpy()[:1])[0]
        if domain.tree.pool_sizes(str(level))[place] >= 2:
            assert row["branch_species_id"].nunique() == 2


def test_branches_show_the_lowest_photo_of_their_observation(
    rows: pd.DataFrame, sample: Sample, catalogue: tuple[pa.Table, pa.Table]
) -> None:
    photos = catalogue[0].to_pandas()
    lowest = photos.sort_values("position").drop_duplicates("observation_id")
    own = ~sample.draws["same_observation"].to_pandas() & (rows["level_requested"] != "visual")
    assert own.mean() > 0.7
    assert rows[own]["branch_photo_id"].isin(lowest["photo_id"]).all()
    assert rows["pivot_photo_id"].isin(lowest["photo_id"]).all()


def test_visual_branches_are_the_nearest_allowed_photos(
    rows: pd.DataFrame, domain: Domain, embeddings: Embeddings
) -> None:
    """Replay the rules with a brute-force search in plain Python."""
    ids = embeddings.photo_ids
    vectors = np.concatenate([np.load(shard) for shard in embeddings.shards])
    place_of = {int(photo): i for i, photo in enumerate(domain.photo_id)}
    used: set[int] = set()
    for _, row in rows.groupby("pivot_index"):
        pivot = int(row["pivot_photo_id"].iloc[0])
        query = vectors[np.flatnonzero(ids == pivot)[0]]
        distance = squared_distances(vectors, np.broadcast_to(query, vectors.shape))
        observers, observations, found = {row["pivot_observer"].iloc[0]}, set(), []
        observations.add(row["pivot_observation"].iloc[0])
        for near in np.lexsort([ids, distance]):
            photo = int(ids[near])
            observation = domain.photo_observation[place_of[photo]]
            key = domain.observation_id[observation]
            observer = domain.observer[observation]
            if photo == pivot or photo in used or key in observations or observer in observers:
                continue
            found.append((photo, np.float32(distance[near])))
            observations.add(key)
            observers.add(observer)
            if len(found) == 2:
                break
        visual = row[row["level_requested"] == "visual"]
        got = list(zip(visual["branch_photo_id"], visual["distance"], strict=True))
        assert got == found
        used |= {pivot, *row["branch_photo_id"].tolist()}


def test_all_distances_are_squared_euclidean(rows: pd.DataFrame, embeddings: Embeddings) -> None:
    vectors = np.concatenate([np.load(shard) for shard in embeddings.shards]).astype(np.float64)
    at = {int(photo): i for i, photo in enumerate(embeddings.photo_ids)}
    first = vectors[[at[photo] for photo in rows["pivot_photo_id"]]]
    second = vectors[[at[photo] for photo in rows["branch_photo_id"]]]
    np.testing.assert_allclose(rows["distance"], np.square(first - second).sum(axis=1), rtol=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(
    domain: Domain, embeddings: Embeddings, sample: Sample
) -> None:
    again = sample_pairs(domain, PLAN, PIVOTS, 0, embeddings=embeddings)
    assert again.pairs.equals(sample.pairs)
    other = sample_pairs(domain, PLAN, PIVOTS, 1, embeddings=embeddings)
    assert not other.pairs["pivot_species_id"].equals(sample.pairs["pivot_species_id"])


@pytest.mark.parametrize(("backend", "block_rows"), [("numpy", 37), ("torch", 4096), ("faiss", 64)])
def test_backend_and_block_size_change_nothing(
    domain: Domain, embeddings: Embeddings, sample: Sample, backend: str, block_rows: int
) -> None:
    again = sample_pairs(
        domain, PLAN, PIVOTS, 0, embeddings=embeddings, backend=backend, block_rows=block_rows
    )
    assert again.pairs.equals(sample.pairs)


def test_order_of_rows_and_of_shards_changes_nothing(
    catalogue: tuple[pa.Table, pa.Table],
    domain: Domain,
    shards: Callable[..., Embeddings],
    sample: Sample,
) -> None:
    photos, taxa = catalogue
    rng = np.random.default_rng(4)
    shuffled = build_domain(
        photos.take(pa.array(rng.permutation(photos.num_rows))),
        taxa.take(pa.array(rng.permutation(taxa.num_rows))),
    )
    vectors = np.random.default_rng(1).normal(size=(len(domain.photo_id), 24))
    other = shards(
        vectors, np.sort(domain.photo_id), 90, order=rng.permutation(-(-len(vectors) // 90))
    )
    assert sample_pairs(shuffled, PLAN, PIVOTS, 0, embeddings=other).pairs.equals(sample.pairs)


@pytest.mark.parametrize("fewer", [1, 17])
def test_adding_pivots_changes_no_earlier_pair(
    domain: Domain, embeddings: Embeddings, sample: Sample, fewer: int
) -> None:
    shorter = sample_pairs(domain, PLAN, PIVOTS - fewer, 0, embeddings=embeddings)
    assert shorter.pairs.equals(sample.pairs.slice(0, 12 * (PIVOTS - fewer)))


def test_a_near_duplicate_of_the_pivot_is_never_its_branch(
    build: SimpleNamespace, catalogue: tuple[pa.Table, pa.Table]
) -> None:
    photos, taxa = catalogue
    ids = photos["photo_id"].to_pylist()
    rng = np.random.default_rng(0)
    # Three kinds of picture; hashes of one kind differ by a bit: a third of all pairs is too near.
    base = [0, 0xFFFF_0000_FFFF_0000, 0x0F0F_0F0F_0F0F_0F0F]
    hashes = [base[rng.integers(3)] ^ (1 << int(rng.integers(3))) for _ in ids]
    index = build.index(ids, ["0" * 64] * len(ids), hashes)
    plan = parse_plan("genus=1,family=1,class=2")
    guarded = sample_pairs(build_domain(photos, taxa, index), plan, 30, 0)
    of = dict(zip(ids, hashes, strict=True))

    def near(sample: Sample) -> int:
        pairs = sample.pairs.to_pandas()
        both = zip(pairs["pivot_photo_id"], pairs["branch_photo_id"], strict=True)
        return sum((of[a] ^ of[b]).bit_count() <= 4 for a, b in both)

    assert near(guarded) == 0
    refused = [s for s in guarded.funnel.steps if "near-duplicates" in s.step]
    assert not refused[0].why.startswith("0 ")
    unguarded = sample_pairs(
        build_domain(photos, taxa, index), plan, 30, 0, rules=Rules(phash_distance=None)
    )
    assert near(unguarded) > 20


def test_pivots_come_only_from_species_that_pass_the_look_ahead(
    domain: Domain, sample: Sample
) -> None:
    good = eligible_species(domain, 4)
    for lacking in lacking_levels(domain, PLAN).values():
        good &= ~lacking
    allowed = set(domain.tree.species_id[good].tolist())
    assert set(sample.pairs["pivot_species_id"].to_pylist()) <= allowed
    steps = {step.step: step.kept for step in sample.funnel.steps}
    assert steps["species: look-ahead class"] == len(allowed)


@pytest.mark.parametrize(
    ("counts", "plan", "passes"),
    [
        ({1: 4, 2: 1}, "species=2", True),
        ({1: 2, 2: 9}, "species=2", False),  # |O_s| - 1
        ({1: 4, 2: 1}, "genus=2", False),  # one congener with one observation
        ({1: 4, 2: 2}, "genus=2", True),  # a second lap
        ({1: 4, 2: 1, 3: 1}, "genus=2", True),
        ({1: 4, 2: 9}, "genus=2,family=1", False),  # no other genus
    ],
)
def test_look_ahead_counts_what_a_level_can_give(
    build: SimpleNamespace, counts: dict[int, int], plan: str, passes: bool
) -> None:
    taxa = build.taxa([(species, 10, 20, 30, 3) for species in counts])
    observations = [(s, 100 * s + i) for s, count in counts.items() for i in range(count)]
    domain = build_domain(build.photos(observations), taxa)
    place = domain.tree.places(np.array([1]))[0]
    lacking = lacking_levels(domain, parse_plan(plan))
    assert passes == (not any(short[place] for short in lacking.values()))


def test_distinct_species_asks_for_as_many_species_as_draws(build: SimpleNamespace) -> None:
    taxa = build.taxa([(1, 10, 20, 30, 3), (2, 10, 20, 30, 3)])
    domain = build_domain(
        build.photos([(1, i) for i in range(4)] + [(2, i) for i in range(9)]), taxa
    )
    place = domain.tree.places(np.array([1]))[0]
    assert not lacking_levels(domain, parse_plan("genus=2"))["genus"][place]
    assert lacking_levels(domain, parse_plan("genus=2"), distinct_species=True)["genus"][place]


def test_the_observer_cap_is_relaxed_only_when_the_pool_is_empty_and_told(
    build: SimpleNamespace,
) -> None:
    taxa = build.taxa([(1, 10, 20, 30, 3), (2, 10, 20, 30, 3)])
    # All of species 2 is by observer 5, who also photographed every pivot candidate.
    domain = build_domain(build.photos([(1, 5)] * 4 + [(2, 5)] * 2), taxa)
    drawn = sample_pairs(domain, parse_plan("genus=1"), 1, 0)
    assert drawn.draws["same_observer"].to_pylist() == [True]
    relaxed = [s.why for s in drawn.funnel.steps if s.step == "pairs: observer cap relaxed"]
    assert relaxed == ["1 times"]


def test_too_few_species_is_said_with_numbers(domain: Domain) -> None:
    with pytest.raises(CouldNotError, match=r"Only \d+ of 5,000 pivots can be given genus=2"):
        sample_pairs(domain, parse_plan("genus=2"), 5000, 0)


def test_visual_branches_without_embeddings_are_refused(domain: Domain) -> None:
    with pytest.raises(CouldNotError, match="collect embed"):
        sample_pairs(domain, PLAN, 3, 0)


def test_a_sample_that_needs_deeper_searches_is_still_complete(
    build: SimpleNamespace, shards: Callable[..., Embeddings]
) -> None:
    """One observer took the 300 nearest photos: the list is searched deeper until others come."""
    taxa = build.taxa([(1, 10, 20, 30, 3), (2, 11, 21, 31, 3)])
    observations = [(1, 1)] * 4 + [(2, 1)] * 300 + [(2, 2), (2, 3)]
    domain = build_domain(build.photos(observations), taxa)
    rows = np.arange(306, dtype=np.float64)[:, None] / 64
    drawn = sample_pairs(
        domain, parse_plan("visual=2"), 1, 0, embeddings=shards(rows, np.arange(306) + 1, 100)
    )
    pivot_species = drawn.pairs["pivot_species_id"][0].as_py()
    assert pivot_species in (1, 2)
    assert len(set(drawn.pairs["branch_photo_id"].to_pylist()) & {305, 306}) >= 1
