"""`collect reject`: reject submissions with a reason."""

from __future__ import annotations

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.crowd_options import crowd_options
from pairs_to_words.collect.output import json_option, next_step, say, say_json, show_progress


@click.command("reject")
@click.argument("task")
@click.option("--assignment", multiple=True, metavar="ID", help="This submission; repeatable.")
@click.option("--worker", multiple=True, metavar="ID", help="All of this worker's; repeatable.")
@click.option("--reason", required=True, help="What the worker reads.")
@click.option("--dry-run", is_flag=True, help="Show what would be rejected; reject nothing.")
@crowd_options
@json_option
@project_option
def command(
    project: OpenProject,
    task: str,
    assignment: tuple[str, ...],
    worker: tuple[str, ...],
    reason: str,
    dry_run: bool,
    crowd: str,
    endpoint_url: str,
    as_json: bool,
) -> None:
    """Reject named submissions of a task, with a reason; they are not paid.

    Example: collect reject writing --assignment 3XYZ... --reason "The text is empty."
    """
    from pairs_to_words.annotation.mturk import open_crowd
    from pairs_to_words.annotation.review import review, waiting
    from pairs_to_words.project.clock import system_clock
    from pairs_to_words.project.errors import UserError

    project.protocol.task(task)
    if not assignment and not worker:
        raise UserError(
            "Nothing is named to reject.", "Give `--assignment ID` or `--worker ID`, or both."
        )
    found = waiting(project.store, task, assignment_ids=assignment, worker_ids=worker)
    counts = {"approved": 0, "rejected": 0, "already": 0}
    if not dry_run:
        with open_crowd(project.layout, project.config, crowd, endpoint_url) as opened:
            counts = review(
                project.store,
                opened,
                task,
                found.rows,
                "reject",
                system_clock,
                reason=reason,
                progress=show_progress,
            )
    if as_json:
        say_json({"task": task, "waiting": len(found.rows), "dry_run": dry_run, **counts})
        return
    if dry_run:
        say(f"Dry run: {len(found.rows):,} submissions of {task} would be rejected.")
    else:
        say(f"Rejected {counts['rejected']:,} submissions of {task}.")
        if counts["already"]:
            say(f"{counts['already']:,} had been reviewed before and stay as they are.")
    next_step("collect status")
