"""Agreement coefficients as functions of a few sums over items.

Each coefficient needs only sums over items and sums of squares over labels. Leaving one cluster
out changes each sum by that cluster's share, so the jackknife of every coefficient costs one pass
over the table (`Table.each`), whatever the number of items.

References: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability; Fleiss 1971, Measuring
Nominal Scale Agreement Among Many Raters; Gwet 2014, Handbook of Inter-Rater Reliability, ch. 2-3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from pairs_to_words.project.errors import UserError
from pairs_to_words.qc.counts import Counts, Floats, Level, add_up

Number = float | Floats


class Sums:
    """Sums over items, as floats or, with one cluster left out each, float64 (clusters,) arrays.

    Each is computed when a coefficient first asks for it: alpha needs three of the nine.

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

    def __init__(self, **parts: Callable[[], Number]) -> None:
        self._parts = parts

    def __getattr__(self, name: str) -> Number:
        # Called for a name that is not stored yet only.
        if name.startswith("_") or name not in self._parts:
            raise AttributeError(name)
        value = self._parts[name]()
        setattr(self, name, value)
        return value


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
        each: The same sums without each cluster in turn, (clusters,) arrays.
        n_clusters: Clusters (or items without clusters) that hold a judgment.
        clustered: Whether clusters were declared.
        n_labels: Labels seen on any item.
        n_labels_pairable: Labels seen on items with two or more judgments.
        n_items, n_pairable, n_judgments: Sizes, all items and judgments included.
        raters: The number of judgments when it is the same on every item, else None.
    """

    total: Sums
    each: Sums
    n_clusters: int
    clustered: bool
    n_labels: int
    n_labels_pairable: int
    n_items: int
    n_pairable: int
    n_judgments: int
    raters: int | None


def prepare(counts: Counts, level: Level = "nominal") -> Table:
    """Prepare the sums of a counts table for one measurement level.

    Raises:
        UserError: Ratio level with a negative label.
    """
    by_item = _ByItem(counts, level)
    m, rated, pairs = by_item.m, by_item.rated, by_item.pairs
    width = max(len(counts.labels), 1)
    seen = by_item.pooled.total > 0
    if not pairs.all():
        seen = add_up(counts.label, counts.count, width) > 0
    clusters = counts.cluster
    return Table(
        total=by_item.sums(),
        each=by_item.sums_without_each(),
        n_clusters=int(rated.sum() if clusters is None else len(np.unique(clusters[rated]))),
        clustered=clusters is not None,
        n_labels=int(seen.sum()),
        n_labels_pairable=int((by_item.pooled.total > 0).sum()),
        n_items=counts.n_items,
        n_pairable=int(pairs.sum()),
        n_judgments=int(m.sum()),
        raters=int(m[0]) if len(m) and (m == m[0]).all() else None,
    )


class _ByItem:
    """What each item contributes to the sums, each array computed once and when needed."""

    def __init__(self, counts: Counts, level: Level) -> None:
        self.counts = counts
        self.count = counts.count.astype(float)
        self.m = add_up(counts.item, self.count, counts.n_items)
        self.pairs = self.m >= 2
        self.rated = self.m >= 1
        self.over = np.where(self.pairs, self.m - 1, 1.0)
        self.pooled = _PerLabel(counts, self._on_pairable(self.count))
        self.distance = _distance(counts, level, self.pooled)

    def _on_pairable(self, weight: Floats) -> Floats:
        return weight if self.pairs.all() else np.where(self.pairs[self.counts.item], weight, 0.0)

    @cached_property
    def agreement(self) -> Floats:
        same = add_up(self.counts.item, self.count * self.count, self.counts.n_items)
        m = np.where(self.pairs, self.m, 2.0)
        return np.where(self.pairs, (same - m) / (m * self.over), 0.0)

    @cached_property
    def disagreement(self) -> Floats:
        return np.where(self.pairs, self.distance.within_items(self.m) / self.over, 0.0)

    @cached_property
    def judgments(self) -> Floats:
        return np.where(self.pairs, self.m, 0.0)

    @cached_property
    def rated_shares(self) -> _PerLabel:
        return _PerLabel(self.counts, self.count / self.m[self.counts.item])

    @cached_property
    def shares(self) -> _PerLabel:
        return _PerLabel(self.counts, self._on_pairable(self.count / self.m[self.counts.item]))

    @cached_property
    def group(self) -> _Groups:
        return _Groups(self.counts, self.rated)

    def sums(self) -> Sums:
        return Sums(
            pairable=lambda: float(self.pairs.sum()),
            agreement=lambda: float(self.agreement.sum()),
            disagreement=lambda: float(self.disagreement.sum()),
            judgments=lambda: float(self.judgments.sum()),
            expected=lambda: self.distance.expected,
            pooled_square=lambda: self.pooled.square,
            share_square=lambda: self.shares.square,
            rated=lambda: float(self.rated.sum()),
            rated_square=lambda: self.rated_shares.square,
        )

    def sums_without_each(self) -> Sums:
        return Sums(
            pairable=lambda: self.group.without(self.pairs.astype(float)),
            agreement=lambda: self.group.without(self.agreement),
            disagreement=lambda: self.group.without(self.disagreement),
            judgments=lambda: self.group.without(self.judgments),
            expected=lambda: self.distance.expected_without(self.group),
            pooled_square=lambda: self.pooled.square_without(self.group),
            share_square=lambda: self.shares.square_without(self.group),
            rated=lambda: self.group.without(self.rated.astype(float)),
            rated_square=lambda: self.rated_shares.square_without(self.group),
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

    def __init__(self, counts: Counts, pooled: _PerLabel) -> None:
        self.counts = counts
        self.pooled = pooled
        self.n = float(pooled.total.sum())
        self.expected = self.n * self.n - pooled.square

    def within_items(self, m: Floats) -> Floats:
        count = self.counts.count.astype(float)
        return m * m - add_up(self.counts.item, count * count, self.counts.n_items)

    def expected_without(self, group: _Groups) -> Floats:
        cluster, _label, weight = group.cells(self.pooled.weight)
        n: Floats = self.n - add_up(cluster, weight, group.size)
        return n * n - self.pooled.square_without(group)


class _Squared:
    """Squared difference of values: interval level, and ordinal level on mid-ranks.

    The ordinal distance, sum of counts from c to k less half of both ends (Krippendorff 2011),
    is the difference of mid-ranks. The jackknife keeps the mid-ranks of the whole table.
    """

    def __init__(self, counts: Counts, values: Floats, pooled: _PerLabel) -> None:
        self.counts = counts
        self.pooled = pooled
        per_label = pooled.total
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
        cluster, label, weight = group.cells(self.pooled.weight)
        value = self.values[label]
        n: Floats = self.n - add_up(cluster, weight, group.size)
        first = self.first - add_up(cluster, weight * value, group.size)
        second = self.second - add_up(cluster, weight * value**2, group.size)
        return 2 * (n * second - first**2)


class _Ratio:
    """Squared ratio distance ((c - k) / (c + k))^2, 0 between two zeros."""

    def __init__(self, counts: Counts, values: Floats, pooled: _PerLabel) -> None:
        per_label = pooled.total
        if (values < 0).any():
            raise UserError(
                f"The ratio level needs labels from 0 upwards (found {values.min():g}).",
                "Use the interval level.",
            )
        self.counts = counts
        self.values = values
        self.pooled = pooled
        self.to_all = np.array([self.distances(v) @ per_label for v in values])
        self.expected = float(per_label @ self.to_all)

    def distances(self, value: float) -> Floats:
        total = self.values + value
        return np.where(total > 0, (self.values - value) / np.where(total > 0, total, 1), 0) ** 2

    def within_items(self, m: Floats) -> Floats:
        return self._within(self.counts.item, self.counts.label, self.counts.count.astype(float))

    def expected_without(self, group: _Groups) -> Floats:
        cluster, label, weight = group.cells(self.pooled.weight)
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


def _distance(counts: Counts, level: Level, pooled: _PerLabel) -> _Nominal | _Squared | _Ratio:
    if level == "nominal":
        return _Nominal(counts, pooled)
    if level == "ordinal":
        ranks = np.cumsum(pooled.total) - pooled.total / 2
        return _Squared(counts, ranks, pooled)
    values = np.array([float(str(label)) for label in counts.labels] or [0.0])
    return (_Squared if level == "interval" else _Ratio)(counts, values, pooled)
