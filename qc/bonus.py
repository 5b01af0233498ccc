"""NLVR2's bonus rounds: whom a sample of reviewed texts earns which bonus.

Suhr et al. 2019, appendix A: in each round, writers and some of their sentences are sampled and
read; writers whose sentences keep the guidelines in at least 75 % of cases get the full bonus,
from 50 % on a smaller one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.store.reviews import Review
from pairs_to_words.qc.review_round import ACCEPT, Round
from statsmodels.stats.proportion import proportion_confint

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Tier:
    """A bonus for those whose share of accepted texts is `least` or more."""

    least: float
    amount: Decimal


@dataclass(frozen=True)
class Earned:
    """What one annotator earned in a round.

    Attributes:
        worker_id: Who.
        assignment_id: A submission of theirs in the round, which the bonus refers to.
        accepted, reviewed: Counts of texts.
        adherence, low, high: Share accepted with its 95 % Wilson interval.
        amount: Bonus in USD, 0 without one.
        borderline: The interval holds a tier's limit: a few more texts could change the amount.
    """

    worker_id: str
    assignment_id: str
    accepted: int
    reviewed: int
    adherence: float
    low: float
    high: float
    amount: Decimal
    borderline: bool


def bonus_tiers(full: str, small: str, least_full: float, least_small: float) -> list[Tier]:
    """Return the two tiers of the scheme.

    Raises:
        UserError: An amount with fractions of a cent or below zero, or limits out of order.
    """
    amounts = [Decimal(text) for text in (full, small)]
    for amount, text in zip(amounts, (full, small), strict=True):
        if not amount.is_finite() or amount < 0 or amount != amount.quantize(CENT):
            raise UserError(f"The bonus {text} is not an amount in cents.", "Write it as 1.50.")
    if not 0 < least_small <= least_full <= 1:
        raise UserError(
            f"The limits {least_full} and {least_small} are out of order.",
            "The smaller bonus's limit is above 0 and not above the full bonus's.",
        )
    return [Tier(least_full, amounts[0]), Tier(least_small, amounts[1])]


def earned_bonuses(
    round_: Round, decisions: dict[int, Review], tiers: Sequence[Tier]
) -> list[Earned]:
    """Return what each annotator of a round earned, by worker id.

    Raises:
        UserError: A text of the round is not decided yet, or came in no submission.
    """
    undecided = [text for text in round_.texts if text.judgment_id not in decisions]
    if undecided:
        raise UserError(
            f"{len(undecided):,} of {len(round_.texts):,} texts of round {round_.name} are not "
            f"decided yet.",
            f"Decide them with `collect review annotators --round {round_.name}`.",
        )
    rows = []
    for worker in sorted({text.worker_id for text in round_.texts}):
        mine = [text for text in round_.texts if text.worker_id == worker]
        paid = sorted(text.assignment_id for text in mine if text.assignment_id)
        if not paid:
            raise UserError(
                f"Texts of worker {worker} in round {round_.name} came in no submission.",
                "A bonus refers to a submission: imported texts cannot earn one.",
            )
        accepted = sum(decisions[text.judgment_id].decision == ACCEPT for text in mine)
        share = accepted / len(mine)
        low, high = proportion_confint(accepted, len(mine), alpha=0.05, method="wilson")
        amount = next((t.amount for t in tiers if share >= t.least), Decimal("0.00"))
        borderline = any(low < tier.least <= high for tier in tiers)
        rows.append(
            Earned(
                worker_id=worker,
                assignment_id=paid[0],
                accepted=accepted,
                reviewed=len(mine),
                adherence=share,
                low=float(low),
                high=float(high),
                amount=amount,
                borderline=borderline,
            )
        )
    return rows
