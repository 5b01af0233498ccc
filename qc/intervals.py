"""Confidence intervals of agreement: a jackknife over clusters, on the scale of disagreement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pairs_to_words.qc.coefficients import Coefficient, Table
from scipy.stats import t as student_t

_LEAST_FREEDOM = 4.0  # below, Student's t is too wide to be of use


@dataclass(frozen=True)
class Interval:
    """A confidence interval and how it was made."""

    low: float
    high: float
    method: str


def interval(coefficient: Coefficient, table: Table, confidence: float = 0.95) -> Interval | None:
    """Return a confidence interval of a coefficient, leaving out one cluster at a time.

    The jackknife runs on log(1 - coefficient), where the estimate is nearer to symmetric. A few
    clusters often carry most of the spread (rare labels), so that its estimate is itself unsure:
    Student's t has the degrees of freedom 2 n / (kurtosis - 1) of a variance estimate
    (Satterthwaite), n - 1 at most. Simulated coverage: tests/qc/test_intervals.py. With perfect
    agreement there is no spread to see, and no interval (None), as with fewer than three clusters.
    """
    if table.n_clusters < 3:
        return None
    estimate = float(coefficient(table.total))
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.asarray(coefficient(table.each), dtype=float)
    if not np.isfinite(each).all() or estimate >= 1 or (each >= 1).any():
        return None
    scale = np.log(1 - each)
    n = table.n_clusters
    square = (scale - scale.mean()) ** 2
    spread = float(square.sum())
    if spread <= 0:
        return None
    kurtosis = n * float((square**2).sum()) / spread**2
    freedom = min(n - 1.0, max(_LEAST_FREEDOM, 2 * n / max(kurtosis - 1, 1e-9)))
    error = float(np.sqrt((n - 1) / n * spread))
    reach = float(student_t.ppf(0.5 + confidence / 2, freedom)) * error
    centre = float(np.log(1 - estimate))
    return Interval(
        1 - float(np.exp(centre + reach)),
        1 - float(np.exp(centre - reach)),
        f"jackknife-t on log(1 - x) over {n} {'clusters' if table.clustered else 'items'}",
    )
