"""`collect agreement`: agreement on anybody's file, no project needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from pairs_to_words.collect.output import json_option, note, say, say_json, table

if TYPE_CHECKING:
    from pairs_to_words.qc.agreement import Result


@click.command("agreement")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--item", required=True, metavar="COLUMN", help="Column of the judged item.")
@click.option("--worker", metavar="COLUMN", help="Column of the worker; needed unless per_event.")
@click.option("--label", required=True, metavar="COLUMN", help="Column of the label.")
@click.option(
    "--convention",
    type=click.Choice(["per_worker", "per_worker_first", "per_event"]),
    help="How a worker's repeated judgments of one item count.  "
    "[default: per_worker, and refuse workers who contradict themselves]",
)
@click.option(
    "--level",
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    default="nominal",
    show_default=True,
    help="Measurement level of the labels.",
)
@click.option("--order", metavar="LOW,...,HIGH", help="Order of ordinal labels that are words.")
@click.option("--cluster", metavar="COLUMN", help="Column of what makes items dependent.")
@click.option(
    "--min", "least", type=float, metavar="ALPHA", help="Exit with 3 when alpha is lower."
)
@json_option
def command(
    file: Path,
    item: str,
    worker: str | None,
    label: str,
    convention: str | None,
    level: str,
    order: str | None,
    cluster: str | None,
    least: float | None,
    as_json: bool,
) -> None:
    """Compute agreement on a CSV, TSV, Parquet or JSON Lines file with one row per judgment.

    Example: collect agreement votes.csv --item item --worker worker --label label
    """
    from typing import Any, cast

    from pairs_to_words.project.errors import UserError
    from pairs_to_words.qc.agreement import agreement
    from pairs_to_words.qc.tables import read_table

    if worker is None and convention != "per_event":
        raise click.UsageError("Give --worker COLUMN, or say --convention per_event.")
    if order is not None and level != "ordinal":
        raise click.UsageError("--order is for --level ordinal.")
    try:
        results = agreement(
            read_table(file),
            item=item,
            worker=worker,
            label=label,
            convention=cast(Any, convention),
            level=cast(Any, level),
            order=None if order is None else [part.strip() for part in order.split(",")],
            cluster=cluster,
        )
    except UserError as error:
        raise UserError(f"{file}: {error.what}", error.hint) from error
    if as_json:
        rows = [result.as_row() for result in results.values()]
        say_json({"file": str(file), "agreement": rows})
    else:
        _print(list(results.values()))
    _check(results[f"krippendorff_alpha_{level}"], least)


def _print(results: list[Result]) -> None:
    first = results[0]
    say(
        f"{first.n_judgments:,} judgments on {first.n_items:,} items by {first.n_workers:,} "
        f"workers, convention {first.convention}; {first.n_conflicts:,} conflicts, "
        f"{first.n_missing:,} rows without a label."
    )
    rows = [
        (
            result.coefficient,
            "undefined" if result.value is None else f"{result.value:.10f}",
            "-" if result.low is None else f"{result.low:.4f} to {result.high:.4f}",
            f"{result.n_items:,}",
            f"{result.n_judgments:,}",
            result.reason or "",
        )
        for result in results
    ]
    say(table(rows, ("coefficient", "value", "95 % interval", "items", "judgments", "reason")))
    if first.warning:
        note(f"warning: {first.warning}.")


def _check(alpha: Result, least: float | None) -> None:
    from pairs_to_words.project.errors import CheckFailed

    if least is not None and (alpha.value is None or alpha.value < least):
        said = alpha.reason if alpha.value is None else f"{alpha.value:.4f}"
        raise CheckFailed(f"{alpha.coefficient} is {said}, below the {least} asked for.")
