"""Validation filters keep what writers, validators and readers agree on, and show their cost."""

from itertools import pairwise

import pandas as pd
import pytest
from pairs_to_words.qc.validation import filter_validations

ROWS = [
    ("right", "True", "True", "True"),
    ("unconfirmed", "False", "True", "True"),
    ("nonsense", "True", "Nonsensical", "True"),
    ("disputed", "True", "False", "False"),
    ("also right", "True", "True", "False"),
]


def judged() -> pd.DataFrame:
    rows = [(item, f"w{n}", value) for item, *said in ROWS for n, value in enumerate(said)]
    return pd.DataFrame(rows, columns=["item_id", "worker_id", "value"])


def test_each_rule_removes_its_own_items() -> None:
    kept, steps = filter_validations(judged(), {row[0]: "True" for row in ROWS})
    assert kept == {"right", "also right"}
    assert [(step.passed, step.failed) for step in steps] == [(4, 1), (3, 1), (2, 1)]
    assert steps[0].share_removed == pytest.approx(0.2)


def test_agreement_is_shown_before_and_after_each_rule() -> None:
    _kept, steps = filter_validations(judged(), {row[0]: "True" for row in ROWS})
    for before, after in pairwise(steps):
        assert before.alpha_after == after.alpha_before
    assert "50%" in steps[2].rule


def test_items_without_a_writers_label_are_left_out() -> None:
    kept, steps = filter_validations(judged(), {"right": "True"})
    assert kept == {"right"}
    assert steps[0].alpha_before is None
