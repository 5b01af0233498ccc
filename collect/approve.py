"""`collect approve`: approve submissions and so pay for them."""

from __future__ import annotations

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.crowd_options import crowd_options, spending_options
from pairs_to_words.collect.output import (
    confirm_spending,
    json_option,
    next_step,
    note,
    say,
    say_json,
    show_progress,
)


@click.command("approve")
@click.argument("task")
@click.option("--assignment", multiple=True, metavar="ID", help="Only this submission; repeatable.")
@click.option("--worker", multiple=True, metavar="ID", help="Only this worker's; repeatable.")
@crowd_options
@spending_options
@click.option("--dry-run", is_flag=True, help="Show what would be paid; approve nothing.")
@json_option
@project_option
def command(
    project: OpenProject,
    task: str,
    assignment: tuple[str, ...],
    worker: tuple[str, ...],
    crowd: str,
    endpoint_url: str,
    yes: bool,
    max_cost: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Approve a task's submissions that wait, and pay for them; nothing is paid twice.

    Example: collect approve clarity --yes --max-cost 200.00
    """
    from pairs_to_words.annotation.mturk import open_crowd
    from pairs_to_words.annotation.review import review, waiting
    from pairs_to_words.project.clock import system_clock

    project.protocol.task(task)
    found = waiting(project.store, task, assignment_ids=assignment, worker_ids=worker)
    cost = str(found.cost)
    result = {"task": task, "waiting": len(found.rows), "held": found.held, "cost": cost}
    counts = {"approved": 0, "rejected": 0, "already": 0}
    if found.rows and not dry_run:
        question = f"Approve {len(found.rows):,} submissions of {task}?"
        confirm_spending(question, cost, yes=yes, max_cost=max_cost)
        with open_crowd(project.layout, project.config, crowd, endpoint_url) as opened:
            counts = review(
                project.store,
                opened,
                task,
                found.rows,
                "approve",
                system_clock,
                progress=show_progress,
            )
    if as_json:
        say_json({**result, **counts})
        return
    if dry_run:
        say(f"Dry run: approving {len(found.rows):,} submissions of {task} pays {cost} USD.")
    elif not found.rows:
        say(f"No submission of {task} waits for approval.")
    else:
        say(f"Approved {counts['approved']:,} submissions of {task} ({cost} USD, fees included).")
    if counts["already"]:
        say(f"{counts['already']:,} had been reviewed before.")
    if found.held:
        note(f"{found.held:,} submissions that could not be read wait for a person.")
    next_step("collect status")
