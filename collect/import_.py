"""`collect import`: bring finished crowd work from files into the project's state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import json_option, next_step, say, say_json

if TYPE_CHECKING:
    from pairs_to_words.qc.imports.finished_work import FinishedWork

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path, exists=True)


@click.group("import")
def command() -> None:
    """Bring in finished crowd work from files; the same file twice adds nothing.

    Example: collect import nlvr2 dev.json
    """


@command.command("nlvr2")
@click.argument("file", type=_FILE)
@project_option
@json_option
def nlvr2(file: Path, project: OpenProject, as_json: bool) -> None:
    """Import an NLVR2 part with its original and later validations.

    Example: collect import nlvr2 dev.json
    """
    from pairs_to_words.qc.imports.nlvr2 import read_nlvr2

    _store(project, file, read_nlvr2(file), as_json)


@command.command("nlvr1")
@click.argument("file", type=_FILE)
@project_option
@json_option
def nlvr1(file: Path, project: OpenProject, as_json: bool) -> None:
    """Import an NLVR part with its raters' evals.

    Example: collect import nlvr1 dev.json
    """
    from pairs_to_words.qc.imports.nlvr1 import read_nlvr1

    _store(project, file, read_nlvr1(file), as_json)


@command.command("bluebirds")
@click.argument("path", type=_FILE)
@project_option
@json_option
def bluebirds(path: Path, project: OpenProject, as_json: bool) -> None:
    """Import the bluebirds data: its folder, or its labels.yaml.

    Example: collect import bluebirds crowds/bluebirds
    """
    from pairs_to_words.qc.imports.bluebirds import read_bluebirds

    _store(project, path, read_bluebirds(path), as_json)


@command.command("long")
@click.argument("file", type=_FILE)
@click.option("--task", required=True, metavar="NAME", help="Task that the judgments belong to.")
@click.option("--item", required=True, metavar="COLUMN", help="Column of the judged item.")
@click.option("--worker", required=True, metavar="COLUMN", help="Column of the worker.")
@click.option("--label", required=True, metavar="COLUMN", help="Column of the label or text.")
@click.option(
    "--field", default="label", show_default=True, metavar="NAME", help="Field that is answered."
)
@click.option("--cluster", metavar="COLUMN", help="Column of what makes items dependent.")
@click.option("--gold", metavar="COLUMN", help="Column of the known right label.")
@click.option("--assignment", metavar="COLUMN", help="Column of the submission.")
@click.option("--seconds", metavar="COLUMN", help="Column of work seconds per submission.")
@click.option("--time", "submitted_at", metavar="COLUMN", help="Column of the time, ISO 8601.")
@project_option
@json_option
def long(
    file: Path,
    task: str,
    item: str,
    worker: str,
    label: str,
    field: str,
    cluster: str | None,
    gold: str | None,
    assignment: str | None,
    seconds: str | None,
    submitted_at: str | None,
    project: OpenProject,
    as_json: bool,
) -> None:
    """Import a CSV, TSV, Parquet or JSON Lines file with one row per judgment.

    Example: collect import long votes.csv --task stance --item item --worker who --label vote
    """
    from pairs_to_words.qc.imports.long import LongColumns, read_long

    columns = LongColumns(item, worker, label, cluster, gold, assignment, seconds, submitted_at)
    _store(project, file, read_long(file, task, columns, field), as_json)


def _crowd_options(function: Decorated) -> Decorated:
    """Add the options of imports that read submissions with named answers."""
    for option in (
        click.option("--task", required=True, metavar="NAME", help="Task of the judgments."),
        click.option(
            "--answers",
            "patterns",
            multiple=True,
            metavar="PATTERN",
            help="How answer names hold the item, such as '{item}_label'; may be repeated.  "
            "[default: the HIT is the item]",
        ),
        click.option(
            "--status",
            "statuses",
            multiple=True,
            metavar="STATUS",
            help="Only submissions of this status, such as Approved; may be repeated.",
        ),
    ):
        function = option(function)
    return function


@command.command("mturk-batch")
@click.argument("file", type=_FILE)
@_crowd_options
@project_option
@json_option
def mturk_batch(
    file: Path,
    task: str,
    patterns: tuple[str, ...],
    statuses: tuple[str, ...],
    project: OpenProject,
    as_json: bool,
) -> None:
    """Import MTurk's batch results CSV: one row per assignment.

    Example: collect import mturk-batch batch.csv --task stance --answers '{item}_stance_group'
    """
    from pairs_to_words.qc.imports.mturk_batch import read_mturk_batch

    _store(project, file, read_mturk_batch(file, task, patterns, statuses), as_json)


@command.command("requester-dump")
@click.argument("path", type=_FILE)
@_crowd_options
@project_option
@json_option
def requester_dump(
    path: Path,
    task: str,
    patterns: tuple[str, ...],
    statuses: tuple[str, ...],
    project: OpenProject,
    as_json: bool,
) -> None:
    """Import saved replies of ListAssignmentsForHIT: a JSON file or a folder of them.

    Example: collect import requester-dump assignments.json --task stance
    """
    from pairs_to_words.qc.imports.requester_dump import read_requester_dump

    _store(project, path, read_requester_dump(path, task, patterns, statuses), as_json)


@command.command("label-studio")
@click.argument("file", type=_FILE)
@click.option("--task", required=True, metavar="NAME", help="Task of the judgments.")
@project_option
@json_option
def label_studio(file: Path, task: str, project: OpenProject, as_json: bool) -> None:
    """Import Label Studio's JSON export: choices, texts, ratings and numbers.

    Example: collect import label-studio export.json --task clarity
    """
    from pairs_to_words.qc.imports.label_studio import read_label_studio

    _store(project, file, read_label_studio(file, task), as_json)


def _store(project: OpenProject, file: Path, work: FinishedWork, as_json: bool) -> None:
    from pairs_to_words.project.clock import system_clock
    from pairs_to_words.qc.imports.finished_work import import_work

    counts = import_work(project.store, work, system_clock)
    if as_json:
        say_json({"file": str(file), "task": work.task, **counts})
        return
    if counts["new_items"] == counts["new_judgments"] == 0:
        say(f"{file} was imported before; nothing is new.")
    else:
        say(
            f"{file}: {counts['new_judgments']:,} new judgments by {counts['workers']:,} workers "
            f"on {counts['items']:,} items of task {work.task}."
        )
    next_step("collect audit")
