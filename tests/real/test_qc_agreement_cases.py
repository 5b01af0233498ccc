"""Agreement coefficients equal exact rational arithmetic on every case of the case file."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.qc.agreement import Result, agreement

FILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "agreement" / "cases.json"
if not FILE.exists():
    pytest.skip(f"no real data at {FILE}", allow_module_level=True)
DATA = json.loads(FILE.read_text())
CASES = [
    pytest.param(case, name, id=f"{case['name']}-{name}")
    for case in DATA["cases"]
    for name in case["expected"]
    if not name.startswith("n_")
]
LONG = {case["name"]: case for case in DATA["long_format_cases"]}
# The case file's words for why a value is undefined, in this project's words.
WHY = {"no_pairable_unit": "no_pairable_items", "one_category": "no_variation"}


def long_table(case: dict[str, Any]) -> pd.DataFrame:
    rows = [
        (index, f"w{worker}", value)
        for index, unit in enumerate(case["units_by_item"])
        for worker, value in enumerate(unit)
    ]
    frame = pd.DataFrame(rows, columns=["item", "worker", "label"])
    frame["label"] = pd.Series([row[2] for row in rows], dtype=object)
    return frame


def result_of(case: dict[str, Any], name: str) -> Result:
    level: Any = name.rsplit("_", 1)[1] if name.startswith("krippendorff") else "nominal"
    return agreement(long_table(case), item="item", worker="worker", label="label", level=level)[
        name
    ]


@pytest.mark.parametrize(("case", "name"), CASES)
def test_the_value_is_exact(case: dict[str, Any], name: str) -> None:
    expected = case["expected"][name]
    result = result_of(case, name)
    if expected["value"] is None:
        assert result.value is None
        why = WHY.get(expected["why"], expected["why"])
        if case["name"] == "single_rater":
            why = "single_rater"
        assert result.reason == why
        return
    assert result.reason is None
    assert result.value == pytest.approx(float(Fraction(expected["exact"])), abs=1e-12)


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["name"])
def test_the_counts_are_reported(case: dict[str, Any]) -> None:
    result = result_of(case, "krippendorff_alpha_nominal")
    expected = case["expected"]
    judged = sum(any(value is not None for value in unit) for unit in case["units_by_item"])
    # A long table cannot show items without any judgment.
    assert result.n_items == min(expected["n_items"], judged)
    assert result.n_pairable == expected["n_items_pairable"]
    assert result.n_judgments == expected["n_ratings"]


def long_format(name: str) -> pd.DataFrame:
    frame = pd.DataFrame(LONG[name]["rows"], columns=["worker", "item", "label"])
    frame["label"] = pd.Series([row[2] for row in LONG[name]["rows"]], dtype=object)
    return frame


def test_a_worker_who_contradicts_themselves_is_refused_unless_a_rule_is_named() -> None:
    frame = long_format("long_duplicate_conflicting")
    with pytest.raises(UserError, match=r"rows 0, 1: .*'a' said of 't1': 'x', then 'y'"):
        agreement(frame, item="item", worker="worker", label="label")


@pytest.mark.parametrize(
    ("convention", "key"),
    [("per_worker", "last_wins"), ("per_worker_first", "first_wins"), ("per_event", "count_both")],
)
def test_each_convention_has_its_value(convention: Any, key: str) -> None:
    result = agreement(
        long_format("long_duplicate_conflicting"),
        item="item",
        worker="worker",
        label="label",
        convention=convention,
    )["krippendorff_alpha_nominal"]
    expected = LONG["long_duplicate_conflicting"][key]["exact"]
    assert result.value == pytest.approx(float(Fraction(expected)), abs=1e-12)
    assert result.convention == convention
    assert result.n_conflicts == 1


def test_labels_of_mixed_types_are_refused_with_their_rows() -> None:
    frame = long_format("mixed_type_1_and_'1'")
    with pytest.raises(UserError, match="mixed types") as caught:
        agreement(frame, item="item", worker="worker", label="label")
    assert "rows" in str(caught.value)


def test_labels_that_differ_only_in_case_or_spaces_are_warned_of() -> None:
    result = agreement(long_format("case_and_space"), item="item", worker="worker", label="label")[
        "krippendorff_alpha_nominal"
    ]
    assert result.value == pytest.approx(0.4, abs=1e-12)
    assert "'Yes', 'yes '" in result.warning
