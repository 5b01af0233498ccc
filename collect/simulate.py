"""`collect simulate`: simulated annotators work on the local crowd."""

from __future__ import annotations

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import (
    json_option,
    next_step,
    say,
    say_json,
    show_progress,
    table,
)


@click.command("simulate")
@click.argument("task")
@click.option(
    "--workers",
    default="good=8,hasty=1,random=1,copy-paste=1,species-namer=1",
    show_default=True,
    metavar="SKILL=COUNT,...",
    help="How many annotators of each skill: good, hasty, random, copy-paste, species-namer.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed.  [default: the project's]")
@project_option
@json_option
def command(task: str, workers: str, seed: int | None, project: OpenProject, as_json: bool) -> None:
    """Let simulated annotators of stated skill do TASK through the worker site's own forms.

    They know what was drawn, so they need the embedded domain. Everything they write carries the
    mark `simulated` up to and in a release.

    Example: collect simulate clarity --workers good=12,random=2
    """
    from pairs_to_words.annotation.mturk import served_endpoint
    from pairs_to_words.annotation.simulate import simulate_task
    from pairs_to_words.annotation.simulated_answers import load_world, parse_workers
    from pairs_to_words.project.clock import iso, system_clock
    from pairs_to_words.project.errors import CouldNotError
    from pairs_to_words.project.files import read_json
    from pairs_to_words.project.store.engine import transaction
    from pairs_to_words.project.store.events import log_event

    declared = project.protocol.task(task)
    crew = parse_workers(workers)
    world = load_world(project.layout)
    endpoint = served_endpoint(project.layout)
    if endpoint is None:
        raise CouldNotError("The local crowd is not running.", "Start it with `collect serve`.")
    visitors = simulate_task(
        endpoint,
        read_json(project.layout.secrets / "crowd.json")["admin_token"],
        declared,
        crew,
        world,
        project.config.project.seed if seed is None else seed,
        show_progress,
    )
    # Who was simulated with which skill stays in the event log: the audit never reads it.
    skills = {visitor.worker_id: visitor.worker.skill for visitor in visitors}
    with transaction(project.store) as connection:
        log_event(connection, iso(system_clock()), "simulated", task, skills=skills)
    sent = {visitor.worker.label: visitor.sent for visitor in visitors}
    if as_json:
        say_json({"task": task, "submissions": sent, "simulated": True})
        return
    if not any(sent.values()):
        say(f"No HIT of {task} is open for these annotators.")
    else:
        rows = [(v.worker.label, v.worker.skill, v.sent) for v in visitors]
        say(table(rows, ("simulated annotator", "skill", "submissions")))
    next_step(f"collect pull {task}")
