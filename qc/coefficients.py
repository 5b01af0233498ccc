"""Agreement coefficients as functions of a few sums over items.

Each coefficient needs only sums over items and sums of squares over labels. Leaving one cluster
out changes each sum by that cluster's share, so the jackknife of every coefficient costs one pass
over the table (`leave_one_out`), whatever the number of items.

References: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability; Fleiss 1971, Measuring
Nominal Scale Agreement Among Many Raters; Gwet 2014, Handbook of Inter-Rater Reliability, ch. 2-3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pairs_to_words.project.errors import UserError
from pairs_to_words.qc.counts import Counts, Floats, Level, add_up

Number = float | Floats


@dataclass(frozen=True)
class Sums:
    """Sums over items, as floats or, with one cluster left out each, float64 (clusters,) arrays.

    Attributes:
        pairable: Items with two or more judgments.
        agreement: Sum over these of the share of agreeing pairs.
        disagreement: Sum over these of squared distances between pairs, over (m - 1).
        judgments: Judgments on these.
        expected: Sum of squared distances between all pairs of judgments on these.
        pooled_square: Sum over labels of their squared number of judgments on these.
        share_square: Sum over labels of the squared sum of label shares of these.
        rated: Items with one or more judgments.
        rated_square: As `share_square`, over the rated items.
    """

    pairable: Number
    agreement: Number
    disagreement: Number
    judgments: Number
    expected: Number
    pooled_square: Number
    share_square: Number
    rated: Number
    rated_square: Number


def krippendorff_alpha(sums: Sums) -> Number:
    """Return alpha = 1 - (n - 1) D_o / D_e, units with two or more judgments only."""
    return 1 - (sums.judgments - 1) * sums.disagreement / sums.expected


def fleiss_kappa_pooled(sums: Sums) -> Number:
    """Return kappa with chance agreement from pooled label counts (Fleiss 1971 when m is equal)."""
    return _kappa(sums, sums.pooled_square / sums.judgments**2)


def fleiss_kappa_items_ge2(sums: Sums) -> Number:
    """Return kappa with chance agreement from mean label shares of items with >= 2 judgments."""
    return _kappa(sums, sums.share_square / sums.pairable**2)


def fleiss_kappa_gwet(sums: Sums) -> Number:
    """Return Gwet's generalisation: chance agreement from items with one judgment or more."""
    return _kappa(sums, sums.rated_square / sums.rated**2)


def percent_agreement(sums: Sums) -> Number:
    """Return the mean over items of the share of agreeing pairs of judgments."""
    return sums.agreement / sums.pairable


def gwet_ac1(sums: Sums, n_labels: int) -> Number:
    """Return AC1; chance agreement sum pi (1 - pi) / (q - 1) over the q labels seen."""
    return _kappa(sums, (1 - sums.rated_square / sums.rated**2) / (n_labels - 1))


def _kappa(sums: Sums, chance: Number) -> Number:
    return (sums.agreement / sums.pairable - chance) / (1 - chance)


Coefficient = Callable[[Sums], Number]


@dataclass(frozen=True)
class Table:
    """A counts table prepared for one measurement level.

    Attributes:
        total: The sums over all items.
        leave_one_out: Computes the same sums without each cluster in turn, (clusters,) arrays.
        n_clusters: Clusters (or items without clusters) that hold a judgment.
        clustered: Whether clusters were declared.
        n_labels: Labels seen on any item.
        n_labels_pairable: Labels seen on items with two or more judgments.
        n_items, n_pairable, n_judgments: Sizes, all items and judgments included.
        raters: The number of judgments when it is the same on every item, else None.
    """

    total: Sums
    leave_one_out: Callable[[], Sums]
    n_clusters: int
    clustered: bool
    n_labels: int
    n_labels_pairable: int
    n_items: int
    n_pairable: int
    n_judgments: int
    raters: int | None


def prepare(counts: Counts, level: Level = "nominal") -> Table:
    """Compute the sums of a counts table for one measurement level.

    Raises:
        UserError: Ratio level with a negative label.
    """
    m = counts.judgments_per_item().astype(float)
    pairs = m >= 2
    rated = m >= 1
    count = counts.count.astype(float)
    per_cell = m[counts.item]
    same = add_up(counts.item, count * count, counts.n_items)
    cell_pairs = pairs[counts.item]
    over = np.where(pairs, m - 1, 1.0)

    agreement = np.where(pairs, (same - m) / (np.where(pairs, m, 1.0) * over), 0.0)
    pooled = _PerLabel(counts, np.where(cell_pairs, count, 0.0))
    share = _PerLabel(counts, np.where(cell_pairs, count / per_cell, 0.0))
    every = _PerLabel(counts, count / per_cell)
    distance = _distance(counts, level, pooled.total)
    observed = np.where(pairs, distance.within_items(m) / over, 0.0)
    judgments = np.where(pairs, m, 0.0)

    def leave_one_out() -> Sums:
        group = _Groups(counts, rated)
        return Sums(
            pairable=group.without(pairs.astype(float)),
            agreement=group.without(agreement),
            disagreement=group.without(observed),
            judgments=group.without(judgments),
            expected=distance.expected_without(group),
            pooled_square=pooled.square_without(group),
            share_square=share.square_without(group),
            rated=group.without(rated.astype(float)),
            rated_square=every.square_without(group),
        )

    raters = m[0] if len(m) and (m == m[0]).all() else None
    return Table(
        total=Sums(
            pairable=float(pairs.sum()),
            agreement=float(agreement.sum()),
            disagreement=float(observed.sum()),
            judgments=float(judgments.sum()),
            expected=distance.expected,
            pooled_square=pooled.square,
            share_square=share.square,
            rated=float(rated.sum()),
            rated_square=every.square,
        ),
        leave_one_out=leave_one_out,
        n_clusters=int(
            rated.sum() if counts.cluster is None else len(np.unique(counts.cluster[rated]))
        ),
        clustered=counts.cluster is not None,
        n_labels=int((every.total > 0).sum()),
        n_labels_pairable=int((pooled.total > 0).sum()),
        n_items=counts.n_items,
        n_pairable=int(pairs.sum()),
        n_judgments=counts.n_judgments,
        raters=None if raters is None else int(raters),
    )


class _Groups:
    """Which cluster each item and cell belongs to, numbered without gaps over rated items."""

    def __init__(self, counts: Counts, rated: npt.NDArray[np.bool_]) -> None:
        names = np.arange(counts.n_items) if counts.cluster is None else counts.cluster
        used, numbered = np.unique(names[rated], return_inverse=True)
        self.size = len(used)
        self.of_item = np.zeros(counts.n_items, dtype=np.int64)
        self.of_item[rated] = numbered
        self.clustered = counts.cluster is not None
        self.counts = counts

    def without(self, per_item: Floats) -> Floats:
        """Return the sum over items without each cluster in turn."""
        return float(per_item.sum()) - add_up(self.of_item, per_item, self.size)

    def cells(self, weight: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """Return (cluster, label, weight) with one row per cluster and label."""
        group = self.of_item[self.counts.item]
        if not self.clustered:
            return group, self.counts.label, weight
        width = max(len(self.counts.labels), 1)
        key, where = np.unique(group * width + self.counts.label, return_inverse=True)
        return key // width, key % width, add_up(where, weight, len(key))


class _PerLabel:
    """A sum per label, and the sum of its squares with each cluster left out.

    sum_c (S_c - x_c)^2 = sum_c S_c^2 - 2 sum_c S_c x_c + sum_c x_c^2.
    """

    def __init__(self, counts: Counts, weight: Floats) -> None:
        self.weight = weight
        self.total = add_up(counts.label, weight, max(len(counts.labels), 1))
        self.square = float((self.total**2).sum())

    def square_without(self, group: _Groups) -> Floats:
        cluster, label, weight = group.cells(self.weight)
        change = weight * (weight - 2 * self.total[label])
        return self.square + add_up(cluster, change, group.size)


class _Nominal:
    """Distance 1 between different labels: n^2 - sum_c n_c^2."""

    def __init__(self, counts: Counts, per_label: Floats) -> None:
        self.counts = counts
        self.per_label = per_label
        n = per_label.sum()
        self.expected = float(n * n - (per_label**2).sum())

    def within_items(self, m: Floats) -> Floats:
        count = self.counts.count.astype(float)
        return m * m - add_up(self.counts.item, count * count, self.counts.n_items)

    def expected_without(self, group: _Groups) -> Floats:
        weight = _pairable_weight(self.counts)
        cluster, label, weight = group.cells(weight)
        change = weight * (weight - 2 * self.per_label[label])
        n: Floats = float(self.per_label.sum()) - add_up(cluster, weight, group.size)
        square = float((self.per_label**2).sum()) + add_up(cluster, change, group.size)
        return n * n - square


class _Squared:
    """Squared difference of values: interval level, and ordinal level on mid-ranks.

    The ordinal distance, sum of counts from c to k less half of both ends (Krippendorff 2011),
    is the difference of mid-ranks. The jackknife keeps the mid-ranks of the whole table.
    """

    def __init__(self, counts: Counts, values: Floats, per_label: Floats) -> None:
        self.counts = counts
        n = per_label.sum()
        # Centred: a large offset must not eat the digits of the differences.
        self.values = values - (per_label @ values) / n if n else values
        self.n = n
        self.first = float(per_label @ self.values)
        self.second = float(per_label @ self.values**2)
        self.expected = 2 * (n * self.second - self.first**2)

    def within_items(self, m: Floats) -> Floats:
        item, count = self.counts.item, self.counts.count.astype(float)
        value = self.values[self.counts.label]
        mean = add_up(item, count * value, self.counts.n_items) / np.maximum(m, 1)
        spread = add_up(item, count * (value - mean[item]) ** 2, self.counts.n_items)
        return 2 * m * spread

    def expected_without(self, group: _Groups) -> Floats:
        cluster, label, weight = group.cells(_pairable_weight(self.counts))
        value = self.values[label]
        n: Floats = self.n - add_up(cluster, weight, group.size)
        first = self.first - add_up(cluster, weight * value, group.size)
        second = self.second - add_up(cluster, weight * value**2, group.size)
        return 2 * (n * second - first**2)


class _Ratio:
    """Squared ratio distance ((c - k) / (c + k))^2, 0 between two zeros."""

    def __init__(self, counts: Counts, values: Floats, per_label: Floats) -> None:
        if (values < 0).any():
            raise UserError(
                f"The ratio level needs labels from 0 upwards (found {values.min():g}).",
                "Use the interval level.",
            )
        self.counts = counts
        self.values = values
        self.per_label = per_label
        self.to_all = np.array([self.distances(v) @ per_label for v in values])
        self.expected = float(per_label @ self.to_all)

    def distances(self, value: float) -> Floats:
        total = self.values + value
        return np.where(total > 0, (self.values - value) / np.where(total > 0, total, 1), 0) ** 2

    def within_items(self, m: Floats) -> Floats:
        return self._within(self.counts.item, self.counts.label, self.counts.count.astype(float))

    def expected_without(self, group: _Groups) -> Floats:
        cluster, label, weight = group.cells(_pairable_weight(self.counts))
        order = np.argsort(cluster, kind="stable")
        cluster, label, weight = cluster[order], label[order], weight[order]
        change = -2 * add_up(cluster, weight * self.to_all[label], group.size)
        within = self._within(cluster, label, weight)
        return self.expected + change + np.pad(within, (0, group.size - len(within)))

    def _within(
        self, row: npt.NDArray[np.int64], label: npt.NDArray[np.int64], weight: Floats
    ) -> Floats:
        """Return sum over label pairs of a row (ascending) of w_c w_k d2(c, k)."""
        size = int(row[-1]) + 1 if len(row) else 0
        total = np.zeros(max(size, self.counts.n_items if row is self.counts.item else size))
        starts = np.searchsorted(row, row, side="left")
        ends = np.searchsorted(row, row, side="right")
        for offset in range(1, int((ends - starts).max(initial=1))):
            # Pair each cell with the one `offset` places further in the same row.
            left = np.flatnonzero(np.arange(len(row)) + offset < ends)
            c, k = self.values[label[left]], self.values[label[left + offset]]
            sums = c + k
            d2 = ((c - k) / np.where(sums > 0, sums, 1)) ** 2
            pair = 2 * weight[left] * weight[left + offset] * d2
            total += add_up(row[left], pair, len(total))
        return total


def _pairable_weight(counts: Counts) -> Floats:
    pairable = counts.judgments_per_item() >= 2
    return np.where(pairable[counts.item], counts.count, 0).astype(float)


def _distance(counts: Counts, level: Level, per_label: Floats) -> _Nominal | _Squared | _Ratio:
    if level == "nominal":
        return _Nominal(counts, per_label)
    if level == "ordinal":
        ranks = np.cumsum(per_label) - per_label / 2
        return _Squared(counts, ranks, per_label)
    values = np.array([float(str(label)) for label in counts.labels] or [0.0])
    return (
        _Squared(counts, values, per_label)
        if level == "interval"
        else _Ratio(counts, values, per_label)
    )
