"""Intervals hold the true agreement about 95 times in 100, and know what dependence costs."""

import numpy as np
import pytest
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.qc.coefficients import (
    Coefficient,
    Table,
    fleiss_kappa_gwet,
    krippendorff_alpha,
    percent_agreement,
    prepare,
)
from pairs_to_words.qc.counts import Level, count_cells
from pairs_to_words.qc.intervals import interval

RATERS = 5
REPEATS = 600


def table(
    rng: np.random.Generator, items: int, share: float, skill: float, copies: int = 1
) -> Table:
    """Items by five annotators of one skill; with `copies`, that many like items a cluster."""
    truth = rng.random(items // copies) < share
    right = rng.random((items // copies, RATERS)) < skill
    label = np.repeat(np.where(right, truth[:, None], ~truth[:, None]), copies, axis=0)
    item = np.repeat(np.arange(items), RATERS)
    cluster = None if copies == 1 else np.arange(items) // copies
    return prepare(count_cells(item, label.ravel().astype(np.int64), items, [0, 1], cluster))


def coverage(coefficient: Coefficient, items: int, share: float, skill: float) -> float:
    rng = keyed_rng(0, "coverage", items, str(share), str(skill))
    true = float(coefficient(table(rng, 400_000, share, skill).total))
    held = 0
    for _ in range(REPEATS):
        found = interval(coefficient, table(rng, items, share, skill))
        held += found is not None and found.low <= true <= found.high
    return held / REPEATS


@pytest.mark.parametrize("items", [50, 100, 300])
@pytest.mark.parametrize(("share", "skill"), [(0.5, 0.95), (0.5, 0.8), (0.9, 0.95), (0.9, 0.85)])
def test_coverage_is_near_95_percent(items: int, share: float, skill: float) -> None:
    # 600 repeats: two standard errors are 0.018 around 0.93 to 0.97.
    assert 0.93 - 0.018 <= coverage(krippendorff_alpha, items, share, skill) <= 0.97 + 0.018


@pytest.mark.parametrize("coefficient", [fleiss_kappa_gwet, percent_agreement])
def test_other_coefficients_are_covered_too(coefficient: Coefficient) -> None:
    assert 0.93 - 0.018 <= coverage(coefficient, 100, 0.7, 0.85) <= 0.97 + 0.018


@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio"])
def test_levels_above_nominal_are_covered(level: Level) -> None:
    rng = keyed_rng(1, "levels", level)

    def draw(items: int) -> Table:
        truth = rng.integers(1, 6, items)
        label = np.clip(truth[:, None] + rng.integers(-1, 2, (items, RATERS)), 1, 5) - 1
        item = np.repeat(np.arange(items), RATERS)
        return prepare(count_cells(item, label.ravel(), items, [1, 2, 3, 4, 5]), level)

    true = float(krippendorff_alpha(draw(200_000).total))
    held = 0
    for _ in range(REPEATS // 2):
        found = interval(krippendorff_alpha, draw(80))
        held += found is not None and found.low <= true <= found.high
    assert 0.905 <= held / (REPEATS // 2) <= 0.995


def test_declared_clusters_widen_the_interval_to_cover_dependence() -> None:
    rng = keyed_rng(2, "clusters")
    true = float(krippendorff_alpha(table(rng, 400_000, 0.5, 0.85).total))
    held = {"clusters": 0, "items": 0}
    for _ in range(REPEATS // 2):
        clustered = table(rng, 400, 0.5, 0.85, copies=8)
        found = interval(krippendorff_alpha, clustered)
        held["clusters"] += found is not None and found.low <= true <= found.high
    rng = keyed_rng(2, "clusters ignored")
    for _ in range(REPEATS // 2):
        truth = rng.random(50) < 0.5
        right = rng.random((50, RATERS)) < 0.85
        label = np.repeat(np.where(right, truth[:, None], ~truth[:, None]), 8, axis=0)
        item = np.repeat(np.arange(400), RATERS)
        ignored = prepare(count_cells(item, label.ravel().astype(np.int64), 400, [0, 1]))
        found = interval(krippendorff_alpha, ignored)
        held["items"] += found is not None and found.low <= true <= found.high
    assert held["clusters"] / (REPEATS // 2) > 0.91
    # The negative control: as if the copies were independent, the interval is far too narrow.
    assert held["items"] / (REPEATS // 2) < 0.7


def test_leaving_one_out_in_one_pass_equals_recomputing_without_it() -> None:
    rng = keyed_rng(3, "loo")
    for level in ("nominal", "ordinal", "interval", "ratio"):
        item = np.repeat(np.arange(12), 4)[: 12 * 4 - 2]
        label = rng.integers(0, 4, len(item))
        counts = count_cells(item, label, 12, [1, 2, 3, 7])
        each = np.asarray(krippendorff_alpha(prepare(counts, level).each))
        for left_out in range(12):
            keep = np.arange(12) != left_out
            again = prepare(counts.only_items(keep), level)
            value = float(krippendorff_alpha(again.total))
            # At the ordinal level the jackknife keeps the mid-ranks of the whole table.
            tolerance = 0.05 if level == "ordinal" else 1e-12
            assert each[left_out] == pytest.approx(value, abs=tolerance)


def test_perfect_agreement_has_no_interval() -> None:
    item = np.repeat(np.arange(60), 3)
    counts = count_cells(item, (item % 2).astype(np.int64), 60, [0, 1])
    assert float(krippendorff_alpha(prepare(counts).total)) == 1
    assert interval(krippendorff_alpha, prepare(counts)) is None
