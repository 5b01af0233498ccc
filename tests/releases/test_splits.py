"""Splits keep what belongs together together, have the asked sizes, and stay when data grows."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs_to_words.releases.splits import connected, split_of_species, split_pairs

SHARES = {"train": 0.8, "val": 0.1, "test": 0.1}


def test_shares_are_met() -> None:
    counted = Counter(split_of_species(n, SHARES, 0) for n in range(20_000))
    for split, share in SHARES.items():
        assert counted[split] / 20_000 == pytest.approx(share, abs=0.01)


def test_another_seed_splits_differently() -> None:
    first = [split_of_species(n, SHARES, 0) for n in range(200)]
    assert first != [split_of_species(n, SHARES, 1) for n in range(200)]


@given(st.dictionaries(st.text("abc", min_size=1), st.lists(st.integers(0, 8), max_size=4)))
def test_members_that_share_a_key_are_connected(keys: dict[str, list[int]]) -> None:
    groups = connected(keys)
    for first in keys:
        for second in keys:
            if set(keys[first]) & set(keys[second]):
                assert groups[first] == groups[second]
        assert groups[first] <= first


def test_new_pairs_leave_old_ones_in_their_split() -> None:
    def split(count: int) -> dict[str, str]:
        keys = {f"p{n}": [("photo", n), ("photo", n + 100_000)] for n in range(count)}
        return split_pairs(keys, {f"p{n}": n for n in range(count)}, SHARES, 0)

    few, many = split(100), split(300)
    assert {pair: many[pair] for pair in few} == few
    assert set(many.values()) == set(SHARES)


KEYS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3), st.lists(st.integers(0, 40), max_size=3), min_size=1
)


@given(KEYS, KEYS, st.integers(0, 5))
def test_adding_or_removing_pairs_never_moves_a_row(
    before: dict[str, list[int]], more: dict[str, list[int]], removed: int
) -> None:
    def species(pairs: dict[str, list[int]]) -> dict[str, int]:
        return {pair: len(pair) * 1000 + ord(pair[0]) for pair in pairs}

    first = split_pairs(before, species(before), SHARES, 0)
    kept = dict(list(before.items())[removed:])
    after = more | kept
    second = split_pairs(after, species(after), SHARES, 0, pinned=first)
    assert {pair: second[pair] for pair in kept} == {pair: first[pair] for pair in kept}
    holders: dict[int, set[str]] = {}
    for pair, split in second.items():
        for key in after[pair]:
            holders.setdefault(key, set()).add(split)
    assert all(len(splits) == 1 for splits in holders.values())


def test_a_pair_that_would_join_two_splits_is_left_out() -> None:
    pinned = {"a": "train", "b": "test"}
    keys = {"a": [1], "b": [2], "c": [1, 2], "d": [1]}
    found = split_pairs(keys, dict.fromkeys(keys, 7), SHARES, 0, pinned=pinned)
    assert found == {"a": "train", "b": "test", "d": "train"}
