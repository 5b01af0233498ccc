"""`collect status`: where the project stands and what to type next."""

from __future__ import annotations

from dataclasses import asdict

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import json_option, next_step, say, say_json, table


@click.command("status")
@project_option
@json_option
def command(project: OpenProject, as_json: bool) -> None:
    """Tell where the project stands and what to type next.

    Example: collect status
    """
    from pairs_to_words.project.standing import next_command, standing

    with project.store.connect() as connection:
        stages = standing(project.layout, project.config, project.protocol, connection)
    upcoming = next_command(stages)
    if as_json:
        say_json(
            {
                "project": str(project.layout.root),
                "protocol": project.protocol.name,
                "stages": [asdict(stage) for stage in stages],
                "next": upcoming,
            }
        )
        return
    say(f"{project.layout.root}: {project.protocol.title}")
    say(table([(s.name, s.state, s.summary) for s in stages], ("stage", "state", "what is there")))
    if upcoming:
        next_step(upcoming)
