"""`collect launch`: publish a task to the crowd."""

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
    table,
)


@click.command("launch")
@click.argument("task")
@click.option("--sample", default="", metavar="NAME", help="Sample whose units are asked about.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask about N units in all, spread over the pivots.  [default: all]",
)
@crowd_options
@spending_options
@click.option("--dry-run", is_flag=True, help="Show the plan and its cost; send nothing.")
@json_option
@project_option
def command(
    project: OpenProject,
    task: str,
    sample: str,
    limit: int | None,
    crowd: str,
    endpoint_url: str,
    yes: bool,
    max_cost: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Publish a task: show its cost, ask, then send; running again continues.

    Example: collect launch clarity --limit 600 --yes --max-cost 200.00
    """
    from pairs_to_words.annotation.launch import plan_launch, publish
    from pairs_to_words.annotation.mturk import open_crowd
    from pairs_to_words.project.clock import system_clock

    declared = project.protocol.task(task)
    if declared.after:
        from pairs_to_words.qc.filters import decide

        decide(project.store, project.protocol, declared.after, system_clock)
    plan = plan_launch(
        project.store,
        project.layout,
        project.config,
        project.protocol,
        task,
        sample=sample,
        limit=limit,
    )
    result = {"task": task, "items": len(plan.items), "cost": str(plan.cost), "dry_run": dry_run}
    if not plan.items and not plan.unfinished:
        if as_json:
            say_json({**result, "published": 0, "found": 0})
        else:
            say(f"Nothing to launch: every unit that {task} can ask about is published already.")
            next_step(f"collect pull {task}")
        return
    note(table(plan.rows(), ("launch", "")))
    if dry_run:
        if as_json:
            say_json({**result, "published": 0, "found": 0})
        else:
            say("Dry run: nothing was sent.")
        return
    confirm_spending(f"Publish {task}?", str(plan.cost), yes=yes, max_cost=max_cost)
    with open_crowd(project.layout, project.config, crowd, endpoint_url) as opened:
        counts = publish(project.store, opened, plan, system_clock, show_progress)
    if as_json:
        say_json({**result, **counts})
        return
    say(
        f"Published {counts['published']:,} HITs for {counts['items']:,} items"
        + (f", found {counts['found']:,} live from before." if counts["found"] else ".")
    )
    next_step(f"collect pull {task}")
