"""Aggregation reports ties, climbs the likelihood and does not depend on the order of rows."""

import numpy as np
import pandas as pd
import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.qc.aggregation import (
    compare,
    dawid_skene,
    encode_votes,
    k_of_n,
    likeliest_label,
    majority,
)
from pairs_to_words.qc.counts import counts_from_units

NAMES = {"item": "item", "worker": "worker", "label": "label"}


def crowd(seed: int, items: int = 200) -> tuple[pd.DataFrame, dict[str, str]]:
    """Six good workers, three who answer at random and one who answers the opposite."""
    rng = keyed_rng(seed, "crowd")
    skills = [0.85] * 6 + [0.5] * 3 + [0.1]
    truth = {f"i{n:03d}": str(rng.choice(["no", "yes"])) for n in range(items)}
    rows = []
    for item, label in truth.items():
        for worker, skill in enumerate(skills):
            other = "no" if label == "yes" else "yes"
            rows.append((item, f"w{worker}", label if rng.random() < skill else other))
    return pd.DataFrame(rows, columns=["item", "worker", "label"]), truth


def test_a_tie_has_no_majority() -> None:
    counts = counts_from_units([["x", "y"], ["y", "x"], ["x", "y", "x"], [None]])
    assert majority(counts) == [None, None, "x", None]
    with pytest.raises(UserError, match="2 items are tied"):
        majority(counts, ties="refuse")


def test_k_of_n_needs_k_votes_for_one_label() -> None:
    counts = counts_from_units([list("aaabc"), list("aabbc"), list("aaabb"), list("abcde")])
    assert k_of_n(counts, 3) == ["a", "-", "a", "-"]
    assert k_of_n(counts, 2) == ["a", "-", "-", "-"]


def test_the_likelihood_never_falls_and_converges() -> None:
    frame, _truth = crowd(0)
    for one_coin in (False, True):
        model = dawid_skene(encode_votes(frame, **NAMES), one_coin=one_coin)
        steps = np.diff(model.log_likelihood)
        assert model.converged
        assert (steps >= -1e-9 * abs(model.log_likelihood[-1])).all()


def test_dawid_skene_uses_the_contrarian_whom_majority_vote_cannot() -> None:
    right = {"majority": 0, "dawid_skene": 0}
    for seed in range(5):
        frame, truth = crowd(seed)
        table = compare(frame, **NAMES)
        for name in right:
            right[name] += sum(truth[i] == said for i, said in table[name].items())
    assert right["dawid_skene"] > right["majority"]


def test_skill_and_confusion_find_who_answers_how() -> None:
    frame, _truth = crowd(1, items=400)
    votes = encode_votes(frame, **NAMES)
    skill = dict(zip(votes.workers, dawid_skene(votes).skill(), strict=True))
    assert min(skill[f"w{n}"] for n in range(6)) > 0.75
    assert all(0.35 < skill[f"w{n}"] < 0.65 for n in (6, 7, 8))
    assert skill["w9"] < 0.25


def test_the_order_of_rows_changes_nothing() -> None:
    frame, _truth = crowd(2)
    first = compare(frame, **NAMES)
    second = compare(frame.sample(frac=1, random_state=0), **NAMES)
    pd.testing.assert_frame_equal(first, second)


def test_difficulty_is_zero_where_the_model_is_certain() -> None:
    frame, _truth = crowd(3)
    table = compare(frame, **NAMES)
    certain = table["probability"] > 0.999
    assert table["difficulty"][certain].max() < 0.02
    assert table["difficulty"].between(0, 1).all()


def test_labels_that_two_readings_explain_equally_have_no_likeliest() -> None:
    frame = pd.DataFrame([("i", "a", "x"), ("i", "b", "y")], columns=["item", "worker", "label"])
    votes = encode_votes(frame, **NAMES)
    assert likeliest_label(dawid_skene(votes, one_coin=True), votes) == [None]
