"""Agreement between annotators: every coefficient by its name, with convention, reason, interval.

Usable on any long table with one row per judgment:

    from pairs_to_words.qc.agreement import agreement
    results = agreement(frame, item="item", worker="worker", label="label")
    print(results["krippendorff_alpha_nominal"].value)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pairs_to_words.qc.coefficients import (
    Coefficient,
    Table,
    fleiss_kappa_gwet,
    fleiss_kappa_items_ge2,
    fleiss_kappa_pooled,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    prepare,
)
from pairs_to_words.qc.counts import Convention, Counts, Level, Tabulated, tabulate
from pairs_to_words.qc.intervals import interval

SMALL = 50  # items below which a 95 % interval is too wide or too optimistic to publish alone

NO_VARIATION = "no_variation"
NO_PAIRABLE_ITEMS = "no_pairable_items"
UNEQUAL_RATERS = "unequal_raters"
SINGLE_RATER = "single_rater"

REASONS = {
    NO_VARIATION: "every judgment has the same label, so agreement by chance is certain",
    NO_PAIRABLE_ITEMS: "no item has two judgments",
    UNEQUAL_RATERS: "items have different numbers of judgments",
    SINGLE_RATER: "one worker gave all judgments",
}
"""Why a coefficient is undefined, in words."""


@dataclass(frozen=True)
class Result:
    """One coefficient, never a bare number.

    Attributes:
        coefficient: Its name, such as `krippendorff_alpha_nominal`.
        level: Measurement level.
        convention: `per_worker`, `per_worker_first` or `per_event`.
        value: The coefficient, or None when it is undefined.
        reason: Why it is undefined (a key of `REASONS`); None when it has a value.
        low, high: 95 % confidence interval; None when it cannot be estimated.
        interval_method: How the interval was made, None without one.
        n_items: Items that it is computed on.
        n_pairable: Of these, items with two or more judgments.
        n_judgments: Judgments on the items.
        n_raters: Judgments per item when that is the same for all, else None.
        n_workers: Distinct workers in the data; 0 when unknown.
        n_conflicts: Worker-item combinations with different labels, before the convention.
        n_missing: Rows without a label, left out.
        n_clusters: Independent clusters behind the interval.
        warning: Remarks to print beside the value; empty when there are none.
    """

    coefficient: str
    level: str
    convention: str
    value: float | None
    reason: str | None
    low: float | None
    high: float | None
    interval_method: str | None
    n_items: int
    n_pairable: int
    n_judgments: int
    n_raters: int | None
    n_workers: int
    n_conflicts: int
    n_missing: int
    n_clusters: int
    warning: str

    def as_row(self) -> dict[str, Any]:
        """Return the fields as JSON-able values, the interval as `[low, high]` or null."""
        row = asdict(self)
        low, high = row.pop("low"), row.pop("high")
        row["interval"] = None if low is None else [low, high]
        return row


def agreement(
    frame: pd.DataFrame,
    *,
    item: str,
    label: str,
    worker: str | None = None,
    convention: Convention | None = None,
    level: Level = "nominal",
    order: Sequence[Hashable] | None = None,
    cluster: str | None = None,
) -> dict[str, Result]:
    """Compute every coefficient on a long table with one row per judgment.

    Args:
        frame: Rows in order of arrival.
        item, label, worker, cluster: Column names; see `qc.counts.tabulate`.
        convention: How a worker's repeated judgments of one item count. None is `per_worker`, but
            refuses rows in which a worker contradicts themselves.
        level: Measurement level of the labels.
        order: Labels from lowest to highest, for ordinal labels that are words.

    Returns:
        Coefficient name to result.

    Raises:
        UserError: The rows cannot be counted; the message names them.
    """
    tabulated = tabulate(
        frame,
        item=item,
        label=label,
        worker=worker,
        cluster=cluster,
        convention=convention,
        level=level,
        order=order,
    )
    return agreement_of(tabulated, level)


def agreement_of(tabulated: Tabulated, level: Level = "nominal") -> dict[str, Result]:
    """Compute every coefficient of a counts table."""
    counts = tabulated.counts
    table = prepare(counts, level)
    nominal = table if level == "nominal" else prepare(counts)
    usual, exactly = exactly_n(counts)
    usual_table = prepare(exactly)
    say = partial(_result, tabulated=tabulated)
    equal = None if nominal.raters is not None else UNEQUAL_RATERS
    results = [
        say(f"krippendorff_alpha_{level}", krippendorff_alpha, table, level=level),
        say("fleiss_kappa_classic", fleiss_kappa_pooled, nominal, undefined=equal),
        say("fleiss_kappa_exactly_n", fleiss_kappa_pooled, usual_table, n_raters=usual),
        say("fleiss_kappa_gwet_generalised", fleiss_kappa_gwet, nominal, rated=True),
        say("fleiss_kappa_items_ge2", fleiss_kappa_items_ge2, nominal),
        say("fleiss_kappa_items_ge2_pooled_pe", fleiss_kappa_pooled, nominal),
        say("gwet_ac1", partial(gwet_ac1, n_labels=nominal.n_labels), nominal, rated=True),
        say("pairwise_percent_agreement", percent_agreement, nominal, needs_variation=False),
    ]
    return {result.coefficient: result for result in results}


def exactly_n(counts: Counts, n: int | None = None) -> tuple[int, Counts]:
    """Keep the items with exactly `n` judgments.

    Args:
        n: None takes the most frequent number that is two or more (the higher of equals).

    Returns:
        The number, and the table of these items.
    """
    m = counts.judgments_per_item()
    if n is None:
        sizes, frequency = np.unique(m[m >= 2], return_counts=True)
        n = int(sizes[frequency == frequency.max()].max()) if len(sizes) else 2
    return n, counts.only_items(m == n)


def category_kappa(counts: Counts) -> dict[Hashable, float | None]:
    """Return label -> Fleiss' kappa of that category against all others.

    kappa_j = 1 - sum_i n_ij (n - n_ij) / (N n (n - 1) p_j (1 - p_j)); Fleiss 1971, equation 23.
    None where items have unequal numbers of judgments, or the label is on all or none of them.
    """
    m = counts.judgments_per_item()
    n = int(m[0]) if len(m) else 0
    if n < 2 or (m != n).any():
        return dict.fromkeys(counts.labels)
    count = counts.count.astype(float)
    width = len(counts.labels)
    share = np.bincount(counts.label, count, width) / (len(m) * n)
    apart = np.bincount(counts.label, count * (n - count), width)
    chance = len(m) * n * (n - 1) * share * (1 - share)
    return {
        label: 1 - apart[j] / chance[j] if chance[j] > 0 else None
        for j, label in enumerate(counts.labels)
    }


def category_alpha(counts: Counts) -> dict[Hashable, float | None]:
    """Return label -> Krippendorff's alpha of that category against all others (any raters)."""
    m = counts.judgments_per_item().astype(float)
    pairable = m >= 2
    cells = pairable[counts.item]
    label, per_item = counts.label[cells], m[counts.item[cells]]
    count = counts.count[cells].astype(float)
    width = len(counts.labels)
    n = float(m[pairable].sum())
    total = np.bincount(label, count, width)
    apart = np.bincount(label, count * (per_item - count) / (per_item - 1), width)
    chance = total * (n - total)
    return {
        value: float(1 - (n - 1) * apart[j] / chance[j]) if chance[j] > 0 else None
        for j, value in enumerate(counts.labels)
    }


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two annotators' labels of the same items, in the same order.

    None when both gave one and the same label everywhere, or there is no item.
    """
    if len(first) == 0:
        return None
    codes, labels = pd.factorize(np.array([*first, *second], dtype=object))
    joint = np.zeros((len(labels), len(labels)))
    np.add.at(joint, (codes[: len(first)], codes[len(first) :]), 1 / len(first))
    chance = float(joint.sum(axis=0) @ joint.sum(axis=1))
    return None if chance >= 1 else (float(np.trace(joint)) - chance) / (1 - chance)


def _result(
    name: str,
    coefficient: Coefficient,
    table: Table,
    *,
    tabulated: Tabulated,
    level: str = "nominal",
    undefined: str | None = None,
    needs_variation: bool = True,
    rated: bool = False,
    n_raters: int | None = None,
) -> Result:
    varies = table.n_labels if rated else table.n_labels_pairable
    if table.n_pairable == 0:
        single = tabulated.n_workers == 1 and tabulated.n_rows > 0
        reason: str | None = SINGLE_RATER if single else NO_PAIRABLE_ITEMS
    elif undefined:
        reason = undefined
    else:
        reason = NO_VARIATION if needs_variation and varies < 2 else None
    value = float(coefficient(table.total)) if reason is None else None
    found = interval(coefficient, table) if value is not None else None
    warnings = list(tabulated.warnings)
    if value is not None and table.n_pairable < SMALL:
        warnings.append(f"only {table.n_pairable} items: fewer than {SMALL}")
    return Result(
        coefficient=name,
        level=level,
        convention=tabulated.convention,
        value=value,
        reason=reason,
        low=found.low if found else None,
        high=found.high if found else None,
        interval_method=found.method if found else None,
        n_items=table.n_items,
        n_pairable=table.n_pairable,
        n_judgments=table.n_judgments,
        n_raters=n_raters or table.raters,
        n_workers=tabulated.n_workers,
        n_conflicts=tabulated.n_conflicts,
        n_missing=tabulated.n_missing,
        n_clusters=table.n_clusters,
        warning="; ".join(warnings),
    )
