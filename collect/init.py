"""`collect init`: make a project directory."""

from __future__ import annotations

from pathlib import Path

import click
from pairs_to_words.collect.output import next_step, say


@click.command("init")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--protocol",
    default="birds-to-words",
    show_default=True,
    metavar="NAME|FILE.toml",
    help="Protocol that the project follows.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed.")
def command(directory: Path, protocol: str, seed: int) -> None:
    """Make a new project directory with its configuration and empty state.

    Example: collect init birds --protocol birds-to-words
    """
    from pairs_to_words.project.create import create_project

    layout = create_project(directory, protocol=protocol, seed=seed)
    say(f"Made {layout.config} ({protocol}).")
    next_step(f"cd {directory} && collect catalog demo --species 2000 --seed 0")
