"""`collect sample`: choose pivots and branches; `collect sample report`: look at the choice."""

from __future__ import annotations

from pathlib import Path

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import (
    json_option,
    next_step,
    note,
    say,
    say_json,
    show_progress,
    table,
)


@click.group("sample", invoke_without_command=True)
@click.option("--pivots", type=click.IntRange(min=1), metavar="N", help="Pivots to choose.")
@click.option(
    "--k",
    type=click.IntRange(min=1),
    metavar="N",
    help="Branches per pivot; must be the plan's sum.  [default: that sum]",
)
@click.option(
    "--plan",
    metavar="LEVEL=N,...",
    help="Branches per level.  [default: [sample] plan of collect.toml]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Seed of every draw.  [default: [project] seed of collect.toml]",
)
@click.option("--name", metavar="NAME", help="Sample.  [default: [sample] name of collect.toml]")
@click.option(
    "--backend",
    type=click.Choice(["auto", "faiss", "torch", "numpy"]),
    default="auto",
    show_default=True,
    help="Neighbour search; all give the same result.",
)
@click.option(
    "--project",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="COLLECT_PROJECT",
    help="Project directory.  [default: the nearest one upwards with collect.toml]",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    pivots: int | None,
    k: int | None,
    plan: str | None,
    seed: int | None,
    name: str | None,
    backend: str,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Choose pivots and branches: the image pairs to ask about.

    Example: collect sample --pivots 405 --k 12
    """
    if context.invoked_subcommand is not None:
        return
    from pairs_to_words.project.errors import UserError
    from pairs_to_words.project.layout import find_project
    from pairs_to_words.project.store.engine import transaction
    from pairs_to_words.project.store.samples import count_batches_of_sample
    from pairs_to_words.sampling.fill import Rules
    from pairs_to_words.sampling.make import Request, is_made, make_sample, planned_manifest
    from pairs_to_words.sampling.plan import check_total, parse_plan

    project = OpenProject(find_project(directory or Path.cwd()))
    if pivots is None:
        raise UserError("How many pivots?", "Type such as `collect sample --pivots 405 --k 12`.")
    config = project.config
    branches = parse_plan(plan or config.sample.plan)
    if k is not None:
        check_total(branches, k)
    name = name or config.sample.name
    request = Request(
        pivots=pivots,
        plan=branches,
        seed=config.project.seed if seed is None else seed,
        rules=Rules(min_observations=config.sample.min_observations),
        licenses=tuple(config.release.licenses),
        encoder=config.embed.encoder,
    )
    planned = planned_manifest(project.layout, request)
    made = is_made(project.layout, name, planned)
    if not made:
        with transaction(project.store) as connection:
            launched = count_batches_of_sample(connection, name)
        if launched:
            raise UserError(
                f"People were already asked about sample {name} ({launched} batches), and it was"
                " made with other options or inputs.",
                "Draw another one with --name NAME.",
            )
        make_sample(project.layout, name, request, backend=backend, progress=show_progress)
    _tell(project, name, as_json=as_json, made=made)


def _tell(project: OpenProject, name: str, *, as_json: bool, made: bool) -> None:
    from pairs_to_words.project.files import read_json
    from pairs_to_words.project.manifest import read_manifest

    folder = project.layout.sample(name)
    funnel, manifest = read_json(folder / "funnel.json"), read_manifest(folder)
    assert manifest is not None
    if as_json:
        say_json(
            {
                "sample": name,
                **manifest.config,
                "seed": manifest.seed,
                "counts": manifest.counts,
                "funnel": funnel,
                "pairs": str(folder / "pairs.parquet"),
            }
        )
        return
    rows = [(s["step"], s["kept"], s["removed"], s["why"]) for s in funnel]
    say(table(rows, ("step", "kept", "removed", "why")))
    say(
        f"Sample {name}: {manifest.counts['pairs']:,} pairs = {manifest.counts['pivots']:,} pivots"
        f" x ({manifest.config['plan']}), seed {manifest.seed}, in {folder / 'pairs.parquet'}"
    )
    if made:
        note(f"Sample {name} is current; nothing to do.")
    next_step("collect sample report, then collect launch clarity")


@command.command("report")
@click.option("--name", metavar="NAME", help="Sample.  [default: [sample] name of collect.toml]")
@project_option
@json_option
def report(project: OpenProject, name: str | None, as_json: bool) -> None:
    """Write an HTML page about a sample: levels, coverage, observers, example pairs.

    Example: collect sample report
    """
    from pairs_to_words.sampling.report import write_report

    name = name or project.config.sample.name
    summary = write_report(project.layout, name)
    if as_json:
        say_json(summary)
        return
    say(f"Wrote {summary['page']}")
    next_step("collect launch clarity")
