"""`collect sample`: choose pivots and branches; `collect sample report`: look at the choice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
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

if TYPE_CHECKING:
    from pairs_to_words.sampling.make import Request

_DEFAULT = ParameterSource.DEFAULT
_DECISIVE = (
    "pivots",
    "k",
    "plan",
    "seed",
    "faithful",
    "reviewed",
    "distinct_species",
    "reuse_photos",
    "allow_same_observation",
    "near_duplicate_bits",
    "near_duplicate_distance",
    "no_observer_cap",
    "visual_other_species",
    "round_robin",
    "refill",
)
"""Options that decide a sample: `--extend` takes them from the sample that is there."""


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
    "--extend",
    type=click.IntRange(min=1),
    metavar="N",
    help="Add N pivots to a finished sample; its earlier pairs stay as they are.",
)
@click.option(
    "--faithful",
    is_flag=True,
    help="What the paper states and nothing more: photos shared by pivots, no near-duplicate guard,"
    " no observer cap, the pivot's own observation allowed.",
)
@click.option("--reviewed", is_flag=True, help="Pivots are the photos chosen in `collect review`.")
@click.option("--distinct-species", is_flag=True, help="Picks of one level are different species.")
@click.option("--reuse-photos", is_flag=True, help="A photo may be used by several pivots.")
@click.option(
    "--allow-same-observation", is_flag=True, help="The pivot's own observation may be a branch."
)
@click.option(
    "--near-duplicate-bits",
    type=click.IntRange(min=-1, max=64),
    default=4,
    show_default=True,
    metavar="BITS",
    help="Photos whose perceptual hashes differ in at most this many bits are never paired;"
    " -1 pairs them.",
)
@click.option(
    "--near-duplicate-distance",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    metavar="D",
    help="Photos nearer than this squared L2 distance of embeddings are never paired.",
)
@click.option("--no-observer-cap", is_flag=True, help="A row may hold an observer twice.")
@click.option(
    "--visual-other-species", is_flag=True, help="Visual branches are of another species."
)
@click.option(
    "--round-robin",
    type=click.Choice(["species", "child"]),
    default="species",
    show_default=True,
    help="Rotate over the species of a level, or over its child groups (genera of a family).",
)
@click.option(
    "--refill",
    type=click.Choice(["none", "next-level"]),
    default="none",
    show_default=True,
    help="Where a level has too few: pass the species over, or draw from the next level"
    " (the true level is recorded).",
)
@click.option(
    "--backend",
    type=click.Choice(["auto", "torch-cuda", "numpy", "torch", "faiss"]),
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
    extend: int | None,
    faithful: bool,
    reviewed: bool,
    distinct_species: bool,
    reuse_photos: bool,
    allow_same_observation: bool,
    near_duplicate_bits: int,
    near_duplicate_distance: float,
    no_observer_cap: bool,
    visual_other_species: bool,
    round_robin: str,
    refill: str,
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
    from pairs_to_words.sampling.fill import FAITHFUL, Rules
    from pairs_to_words.sampling.make import Request, request_of
    from pairs_to_words.sampling.plan import check_total, parse_plan

    project = OpenProject(find_project(directory or Path.cwd()))
    config = project.config
    name = name or config.sample.name
    if extend is not None:
        decisive = [p for p in _DECISIVE if context.get_parameter_source(p) is not _DEFAULT]
        if decisive:
            options = ", ".join("--" + p.replace("_", "-") for p in decisive)
            raise UserError(
                f"--extend keeps the sample's own options; leave out {options}.",
                "Draw another sample with --name NAME.",
            )
        request = request_of(project.layout, name)
        request = replace(request, pivots=request.pivots + extend)
        _make(project, name, request, backend, as_json=as_json)
        return
    if pivots is None:
        raise UserError("How many pivots?", "Type such as `collect sample --pivots 405 --k 12`.")
    branches = parse_plan(plan or config.sample.plan)
    if k is not None:
        check_total(branches, k)
    rules = Rules(
        distinct_species=distinct_species,
        reuse_photos=reuse_photos,
        allow_same_observation=allow_same_observation,
        phash_distance=None if near_duplicate_bits < 0 else near_duplicate_bits,
        min_distance=near_duplicate_distance,
        observer_cap=not no_observer_cap,
        visual_other_species=visual_other_species,
        rotation=round_robin,
        refill=refill,
    )
    request = Request(
        pivots=pivots,
        plan=branches,
        seed=config.project.seed if seed is None else seed,
        rules=replace(
            FAITHFUL if faithful else rules, min_observations=config.sample.min_observations
        ),
        licenses=tuple(config.release.licenses),
        encoder=config.embed.encoder,
        reviewed=reviewed,
    )
    _make(project, name, request, backend, as_json=as_json)


def _make(
    project: OpenProject, name: str, request: Request, backend: str, *, as_json: bool
) -> None:
    """Draw the sample, go on with it, or say that it is there."""
    from pairs_to_words.project.errors import UserError
    from pairs_to_words.project.store.engine import transaction
    from pairs_to_words.project.store.reviews import current_reviews
    from pairs_to_words.project.store.samples import count_batches_of_sample
    from pairs_to_words.sampling.make import (
        continues,
        is_made,
        make_sample,
        planned_manifest,
    )
    from pairs_to_words.sampling.review import PIVOT

    layout = project.layout
    with transaction(project.store) as connection:
        decisions = current_reviews(connection, PIVOT)
    made = is_made(layout, name, planned_manifest(layout, request, decisions))
    if not made:
        go_on = continues(layout, name, request)
        with transaction(project.store) as connection:
            launched = count_batches_of_sample(connection, name)
        if launched and not go_on:
            raise UserError(
                f"People were already asked about sample {name} ({launched} batches), and it was"
                " made with other options.",
                "Draw another one with --name NAME.",
            )
        make_sample(
            layout,
            name,
            request,
            decisions=decisions,
            go_on=go_on,
            backend=backend,
            progress=show_progress,
        )
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
