"""`collect pull`: fetch new submissions into the project."""

from __future__ import annotations

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.crowd_options import crowd_options
from pairs_to_words.collect.output import json_option, next_step, note, say, say_json, show_progress


@click.command("pull")
@click.argument("task")
@crowd_options
@json_option
@project_option
def command(project: OpenProject, task: str, crowd: str, endpoint_url: str, as_json: bool) -> None:
    """Fetch a task's new submissions; safe to repeat, at any time.

    Example: collect pull clarity
    """
    from pairs_to_words.annotation.mturk import open_crowd
    from pairs_to_words.annotation.pull import pull
    from pairs_to_words.project.clock import system_clock

    declared = project.protocol.task(task)
    with open_crowd(project.layout, project.config, crowd, endpoint_url) as opened:
        counts = pull(project.store, opened, task, declared, system_clock, show_progress)
    if as_json:
        say_json({"task": task, **counts})
        return
    say(f"{counts['new']:,} new submissions with {counts['judgments']:,} judgments.")
    if counts["reviewed"]:
        say(f"{counts['reviewed']:,} earlier submissions were reviewed meanwhile.")
    if counts["quarantined"]:
        note(
            f"{counts['quarantined']:,} submissions could not be read; they are kept with their "
            "raw text and wait for a person."
        )
    next_step("collect audit")
