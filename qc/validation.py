"""Filter validated sentences: the writer's label confirmed, nothing nonsensical, agreement enough.

Suhr et al. 2019, section 3: an example stays when its validation equals the writer's label, when
nobody reported it as nonsensical, and when the later judgments agree. Each step is reported with
what it removed and with agreement before and after, since a filter that asks for agreement raises
agreement by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from pairs_to_words.qc.agreement import agreement_of
from pairs_to_words.qc.counts import tabulate


@dataclass(frozen=True)
class FilterStep:
    """One rule applied to the items that the rules before it kept.

    Attributes:
        rule: In words, with its numbers.
        passed, failed: Items.
        share_removed: Of the items that came in.
        alpha_before, alpha_after: Krippendorff's alpha (nominal, per_worker); None if undefined.
    """

    rule: str
    passed: int
    failed: int
    share_removed: float
    alpha_before: float | None
    alpha_after: float | None


def filter_validations(
    judgments: pd.DataFrame,
    references: Mapping[str, str],
    *,
    nonsensical: str = "nonsensical",
    least_share: float = 0.5,
) -> tuple[set[str], list[FilterStep]]:
    """Apply the three rules in turn.

    Args:
        judgments: Columns item_id, worker_id, value, in order of arrival.
        references: Item to the writer's label.
        nonsensical: The label that reports nonsense, in any case.
        least_share: Share of an item's judgments that must be the writer's label; more than this.

    Returns:
        The items kept, and one step per rule.
    """
    kept = set(references) & set(judgments["item_id"])
    rows = judgments[judgments["item_id"].isin(kept)]
    same = rows["value"] == rows["item_id"].map(references)
    first = same.groupby(rows["item_id"]).first()
    nonsense = rows["value"].str.casefold() == nonsensical.casefold()
    reported = nonsense.groupby(rows["item_id"]).any()
    share = same.groupby(rows["item_id"]).mean()
    rules: Sequence[tuple[str, Callable[[str], bool]]] = (
        ("the first validation equals the writer's label", lambda i: bool(first[i])),
        ("nobody reports it as nonsensical", lambda i: not reported[i]),
        (
            f"more than {least_share:.0%} of judgments equal the writer's label",
            lambda i: bool(share[i] > least_share),
        ),
    )
    steps = []
    for words, keeps in rules:
        left = {item for item in kept if keeps(item)}
        steps.append(
            FilterStep(
                rule=words,
                passed=len(left),
                failed=len(kept) - len(left),
                share_removed=(len(kept) - len(left)) / len(kept) if kept else 0.0,
                alpha_before=_alpha(rows, kept),
                alpha_after=_alpha(rows, left),
            )
        )
        kept = left
    return kept, steps


def _alpha(rows: pd.DataFrame, items: set[str]) -> float | None:
    part = rows[rows["item_id"].isin(items)]
    if part.empty:
        return None
    counted = tabulate(
        part, item="item_id", worker="worker_id", label="value", convention="per_worker"
    )
    return agreement_of(counted)["krippendorff_alpha_nominal"].value
