"""`collect catalog`: build the catalogue of photos and taxa."""

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


@click.group("catalog")
def command() -> None:
    """Build the catalogue of photos and taxa.

    Example: collect catalog demo --species 2000 --seed 0
    """


@command.command("demo")
@click.option(
    "--species",
    default=2000,
    show_default=True,
    type=click.IntRange(min=1),
    metavar="COUNT",
    help="Species of the domain, chosen from AviList 2025.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed.  [default: the project's]")
@project_option
@json_option
def demo(species: int, seed: int | None, project: OpenProject, as_json: bool) -> None:
    """Draw the embedded domain: real bird taxonomy, drawn photographs, known truth.

    Needs no download: a test bench for sampling, crowds, audits and models.

    Example: collect catalog demo --species 2000 --seed 0
    """
    from pairs_to_words.project.files import read_json
    from pairs_to_words.project.manifest import read_manifest
    from pairs_to_words.sampling.demo.build import build_demo

    chosen = project.config.project.seed if seed is None else seed
    made = build_demo(project.layout, species=species, seed=chosen, progress=show_progress)
    manifest = made or read_manifest(project.layout.catalog)
    assert manifest is not None
    funnel = read_json(project.layout.catalog / "funnel.json")
    if as_json:
        say_json({"counts": manifest.counts, "funnel": funnel, "made": made is not None})
        return
    if made is None:
        say("The catalogue is there already and nothing about it has changed.")
    else:
        columns = ("step", "kept", "removed", "why")
        say(table([[row[column] for column in columns] for row in funnel], columns))
        say(", ".join(f"{count:,} {what}" for what, count in manifest.counts.items()))
        say(f"Look at {project.layout.catalog / 'contact-sheet.jpg'}")
    next_step("collect embed")
