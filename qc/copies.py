"""Find copied texts: near-duplicates with the same order of words and of the two animals.

Two texts are copies when the Jaccard similarity of their sets of three-word sequences is at least
a threshold and both mention the animals in the same order: a text with Animal 1 and Animal 2
swapped says something else. The search is exact: with rare sequences first, two sets can only
reach the threshold when their first few members meet (prefix filtering; Bayardo et al. 2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from pairs_to_words.project.guidelines import ANIMALS, normalise
from pairs_to_words.project.splitter import words

SIMILAR = 0.8
_SEQUENCE = 3
_MOST_SEQUENCES = 4_000  # of one text: a megabyte of text must not make the search quadratic


def near_duplicates(texts: Sequence[str], threshold: float = SIMILAR) -> list[tuple[int, int]]:
    """Return index pairs (earlier, later) of texts that are near-duplicates of each other."""
    prepared = [words(normalise(text)) for text in texts]
    sequences = _sequence_sets(prepared)
    animals = [tuple(token for token in tokens if token in ANIMALS) for tokens in prepared]
    by_member: dict[int, list[int]] = {}
    found: list[tuple[int, int]] = []
    for later, mine in enumerate(sequences):
        prefix = mine[: len(mine) - math.ceil(threshold * len(mine)) + 1]
        candidates = {other for member in prefix for other in by_member.get(int(member), ())}
        for earlier in sorted(candidates):
            if animals[earlier] == animals[later] and _similar(sequences[earlier], mine, threshold):
                found.append((earlier, later))
        for member in prefix:
            by_member.setdefault(int(member), []).append(later)
    return found


def copied(
    texts: pd.DataFrame, threshold: float = SIMILAR, examples: Sequence[str] = ()
) -> pd.DataFrame:
    """Mark each text that repeats an earlier one about another item, or a guideline example.

    Texts by different workers about the same item may truly be alike and do not count.

    Args:
        texts: Columns item_id, worker_id, value, in order of arrival.
        threshold: Least similarity.
        examples: Texts that the instructions show.

    Returns:
        bool columns copies_own, copies_other, copies_example with the index of `texts`.
    """
    shown = list(examples)
    pairs = near_duplicates([*shown, *texts["value"]], threshold)
    worker = texts["worker_id"].to_numpy()
    item = texts["item_id"].to_numpy()
    marks = {name: np.zeros(len(texts), dtype=bool) for name in ("own", "other", "example")}
    for earlier, later in pairs:
        if later < len(shown):
            continue
        a, b = earlier - len(shown), later - len(shown)
        if a < 0:
            marks["example"][b] = True
        elif worker[a] == worker[b]:
            marks["own"][b] = True
        elif item[a] != item[b]:
            marks["other"][b] = True
    return pd.DataFrame({f"copies_{name}": mark for name, mark in marks.items()}, index=texts.index)


def _sequence_sets(prepared: list[list[str]]) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return each text's set of word sequences as ids, rarest in all texts first."""
    ids: dict[tuple[str, ...], int] = {}
    sets: list[list[int]] = []
    for tokens in prepared:
        last = max(1, len(tokens) - _SEQUENCE + 1)
        members = {tuple(tokens[i : i + _SEQUENCE]) for i in range(min(last, _MOST_SEQUENCES))}
        sets.append([ids.setdefault(member, len(ids)) for member in sorted(members)])
    counts = np.bincount(np.array([i for s in sets for i in s], dtype=np.int64), minlength=len(ids))
    # Ties in order of first appearance: one global order, whatever the hash seed.
    rank = np.empty(len(ids), dtype=np.int64)
    rank[np.lexsort((np.arange(len(ids)), counts))] = np.arange(len(ids))
    return [np.sort(rank[np.array(s, dtype=np.int64)]) for s in sets]


def _similar(
    first: np.ndarray[tuple[int], np.dtype[np.int64]],
    second: np.ndarray[tuple[int], np.dtype[np.int64]],
    threshold: float,
) -> bool:
    if min(len(first), len(second)) < threshold * max(len(first), len(second)):
        return False
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common >= threshold * (len(first) + len(second) - common)
