"""Caption metrics: properties, edges and refusals (values are held in tests/real)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs_to_words.project.errors import UserError
from pairs_to_words.training.metrics import longest_common_subsequence, score

WORDS = st.lists(st.sampled_from("abcde"), max_size=12)


@given(WORDS, WORDS)
def test_the_bit_parallel_subsequence_equals_the_table(left: list[str], right: list[str]) -> None:
    table = np.zeros((len(left) + 1, len(right) + 1), dtype=int)
    for i, a in enumerate(left, start=1):
        for j, b in enumerate(right, start=1):
            grown = table[i - 1, j - 1] + 1
            table[i, j] = grown if a == b else max(table[i - 1, j], table[i, j - 1])
    assert longest_common_subsequence(left, right) == table[-1, -1]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=5, max_size=9), min_size=3))
def test_repeating_a_reference_scores_full_bleu_and_rouge(texts: list[list[str]]) -> None:
    lines = [" ".join(text) for text in texts]
    found = score(lines, [["something else", line] for line in lines]).summary()
    assert found["bleu_4"] == pytest.approx(1)
    assert found["rouge_l"] == pytest.approx(1)


def test_a_subset_of_items_scores_as_its_own_bleu_corpus() -> None:
    hypotheses = ["a b c d e", "a b x d", "q r s t u v"]
    references = [["a b c d f"], ["a b c d"], ["q r s t u v w"]]
    chosen = np.array([0, 2])
    part = score([hypotheses[i] for i in chosen], [references[i] for i in chosen])
    np.testing.assert_array_equal(score(hypotheses, references).bleu(chosen), part.bleu())


def test_an_empty_hypothesis_scores_nothing_and_breaks_nothing() -> None:
    scores = score(["", "a red bill"], [["a red bill"], ["a red bill"]])
    assert scores.item_rouge_l[0] == 0
    assert scores.item_cider_d[0] == 0
    assert scores.item_bleu()[0].max() == 0


def test_an_item_without_references_is_refused_by_number() -> None:
    with pytest.raises(UserError, match="Item 1 has no reference"):
        score(["a", "b"], [["a"], []])


def test_different_counts_are_refused() -> None:
    with pytest.raises(UserError, match="2 hypotheses for 1 items"):
        score(["a", "b"], [["a"]])
