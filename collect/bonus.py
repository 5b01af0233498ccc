"""`collect bonus`: pay the bonuses that a review round earned."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.crowd_options import crowd_options, spending_options
from pairs_to_words.collect.output import (
    confirm_spending,
    json_option,
    next_step,
    say,
    say_json,
    table,
)


@click.command("bonus")
@click.option("--round", "name", required=True, metavar="NAME", help="Review round.")
@click.option(
    "--full", default="1.00", show_default=True, metavar="USD", help="Bonus from --full-from on."
)
@click.option(
    "--small", default="0.50", show_default=True, metavar="USD", help="Bonus from --small-from on."
)
@click.option(
    "--full-from", default=0.75, show_default=True, help="Share accepted for the full one."
)
@click.option(
    "--small-from",
    default=0.5,
    show_default=True,
    help="Share accepted for the small one.",
)
@crowd_options
@spending_options
@click.option("--dry-run", is_flag=True, help="Show who earned what; pay nothing.")
@project_option
@json_option
def command(
    name: str,
    full: str,
    small: str,
    full_from: float,
    small_from: float,
    crowd: str,
    endpoint_url: str,
    yes: bool,
    max_cost: str | None,
    dry_run: bool,
    project: OpenProject,
    as_json: bool,
) -> None:
    """Pay annotators by the share of their reviewed texts that was accepted; never twice.

    Example: collect bonus --round pilot --full 1.00 --small 0.50 --dry-run
    """
    from decimal import Decimal

    from pairs_to_words.annotation.bonus import Payment, pay_bonuses, unpaid
    from pairs_to_words.annotation.mturk import open_crowd
    from pairs_to_words.project.clock import system_clock
    from pairs_to_words.qc.bonus import bonus_tiers, earned_bonuses
    from pairs_to_words.qc.review_round import decisions_of, open_round

    tiers = bonus_tiers(full, small, full_from, small_from)
    round_ = open_round(project.layout, name)
    earned = earned_bonuses(round_, decisions_of(project.store, round_), tiers)
    payments = [
        Payment(
            row.worker_id,
            row.assignment_id,
            row.amount,
            f"Thank you: {row.accepted} of {row.reviewed} texts of round {name} keep the "
            f"guidelines.",
            name,
        )
        for row in earned
        if row.amount > 0
    ]
    waiting = unpaid(project.store, payments)
    cost = sum((p.amount + p.fee for p in waiting), Decimal("0.00"))
    paid = 0
    if waiting and not dry_run:
        question = f"Pay {len(waiting):,} bonuses of round {name}?"
        confirm_spending(question, str(cost), yes=yes, max_cost=max_cost)
        with open_crowd(project.layout, project.config, crowd, endpoint_url) as opened:
            paid = pay_bonuses(
                project.store,
                opened,
                round_.task,
                payments,
                project.config.crowd.max_cost,
                system_clock,
            )
    if as_json:
        rows: list[dict[str, Any]] = [asdict(r) | {"amount": str(r.amount)} for r in earned]
        say_json({"round": name, "cost": str(cost), "paid": paid, "annotators": rows})
        return
    say(
        table(
            [
                (
                    row.worker_id,
                    f"{row.accepted} of {row.reviewed}",
                    f"{row.low:.0%} to {row.high:.0%}",
                    str(row.amount),
                    "borderline" if row.borderline else "",
                )
                for row in earned
            ],
            ("annotator", "accepted", "95 % interval", "USD", "remark"),
        )
    )
    if dry_run:
        say(f"Dry run: {len(waiting):,} bonuses are due, {cost} USD with fees.")
    elif waiting:
        say(f"Paid {paid:,} bonuses, {cost} USD with fees.")
    else:
        say("No bonus of this round is due.")
    next_step("collect status")
