"""Level pools are what 5.2 no. 3 says, checked against lowest common ancestors by brute force."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import LEVELS
from pairs_to_words.sampling.taxonomy import Tree, build_tree


def lowest_common_level(first: str, second: str) -> str:
    """Walk two ancestry strings `class/order/family/genus/species` from the root down."""
    shared = 0
    for a, b in zip(first.split("/"), second.split("/"), strict=True):
        if a != b:
            break
        shared += 1
    return {5: "species", 4: "genus", 3: "family", 2: "order", 1: "class", 0: "beyond"}[shared]


def ancestry(taxa: pa.Table) -> dict[int, str]:
    return {
        row["species_id"]: "/".join(
            str(row[f"{rank}_id"]) for rank in ("class", "order", "family", "genus", "species")
        )
        for row in taxa.to_pylist()
    }


def pool(tree: Tree, level: str, species: int) -> set[int]:
    if level == "species":
        return {int(tree.species_id[species])}
    size = int(tree.pool_sizes(level)[species])
    members = tree.pool_members(level, np.array([species]), np.arange(size))
    return set(tree.species_id[members].tolist())


@pytest.mark.parametrize("seed", range(4))
def test_pools_equal_a_brute_force_lowest_common_ancestor(
    build: SimpleNamespace, seed: int
) -> None:
    taxa = build.taxa(build.lineages(np.random.default_rng(seed), 150))
    tree, lines = build_tree(taxa), ancestry(taxa)
    for place, identity in enumerate(tree.species_id.tolist()):
        expected: dict[str, set[int]] = {level: set() for level in LEVELS}
        for other, line in lines.items():
            expected[lowest_common_level(lines[identity], line)].add(other)
        for level in LEVELS:
            assert pool(tree, level, place) == expected[level]


def test_pools_of_a_species_are_disjoint_and_cover_the_domain(build: SimpleNamespace) -> None:
    taxa = build.taxa(build.lineages(np.random.default_rng(9), 200))
    tree = build_tree(taxa)
    everything = set(taxa["species_id"].to_pylist())
    for place in range(len(tree.species_id)):
        pools = [pool(tree, level, place) for level in LEVELS]
        assert sum(len(p) for p in pools) == len(everything)
        assert set().union(*pools) == everything


def test_the_order_of_rows_does_not_matter(build: SimpleNamespace) -> None:
    taxa = build.taxa(build.lineages(np.random.default_rng(2), 100))
    shuffled = taxa.take(pa.array(np.random.default_rng(3).permutation(100)))
    assert build_tree(shuffled).species_id.tolist() == build_tree(taxa).species_id.tolist()


def test_unknown_ancestors_never_count_as_the_same_one(build: SimpleNamespace) -> None:
    # Genera 10 and 20 have no family, so each has one of its own: minus the child's id.
    taxa = build.taxa([(1, 10, -10, 30, 3), (2, 20, -20, 30, 3), (3, 10, -10, 30, 3)])
    tree = build_tree(taxa)
    one = tree.places(np.array([1]))[0]
    assert pool(tree, "genus", one) == {3}
    assert pool(tree, "family", one) == set()
    assert pool(tree, "order", one) == {2}


def test_species_of_another_class_are_in_no_pool_and_are_told_as_beyond(
    build: SimpleNamespace,
) -> None:
    tree = build_tree(build.taxa([(1, 10, 20, 30, 3), (2, 11, 21, 31, 3), (3, 12, 22, 32, 4)]))
    bird, other = tree.places(np.array([1, 3]))
    assert pool(tree, "class", bird) == {2}
    assert tree.level_between(np.array([bird]), np.array([other])).tolist() == ["beyond"]


def test_true_levels_equal_the_oracle(build: SimpleNamespace) -> None:
    taxa = build.taxa(build.lineages(np.random.default_rng(5), 120))
    tree, lines = build_tree(taxa), ancestry(taxa)
    first, second = np.random.default_rng(0).integers(0, 120, (2, 2000))
    expected = [
        lowest_common_level(lines[tree.species_id[a]], lines[tree.species_id[b]])
        for a, b in zip(first, second, strict=True)
    ]
    assert tree.level_between(first, second).tolist() == expected


def test_a_genus_in_two_families_is_refused_by_name(build: SimpleNamespace) -> None:
    with pytest.raises(UserError, match=r"genus 10 \(genus 10\).*family: 20 and 21"):
        build_tree(build.taxa([(1, 10, 20, 30, 3), (2, 10, 21, 30, 3)]))


def test_a_species_twice_is_refused_by_name(build: SimpleNamespace) -> None:
    with pytest.raises(UserError, match="species 1 is listed 2 times"):
        build_tree(build.taxa([(1, 10, 20, 30, 3), (1, 10, 20, 30, 3)]))
