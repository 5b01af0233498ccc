"""`collect audit`: agreement and each annotator's quality, printed and as reports."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import json_option, next_step, note, say, say_json, table


@click.command("audit")
@click.option("--task", metavar="TASK", help="Audit this task only.  [default: every task]")
@click.option("--show-worker-ids", is_flag=True, help="Show worker ids instead of pseudonyms.")
@project_option
@json_option
def command(task: str | None, show_worker_ids: bool, project: OpenProject, as_json: bool) -> None:
    """Report agreement and each annotator's quality, and recommend what to do.

    Writes audit.html, audit.csv and audit.json into reports/. Annotators recommended for
    exclusion are left out of later releases; their pay is not touched.

    Example: collect audit
    """
    from pairs_to_words.project.clock import system_clock
    from pairs_to_words.qc.audit import audit, record_decisions
    from pairs_to_words.qc.report import hide_worker_ids, write_report

    report = audit(project.store, project.protocol, project.config, project.layout, task=task)
    if task is None:
        record_decisions(project.store, report, system_clock)
    paths = write_report(
        project.layout.reports,
        report,
        project=project.layout.root.name,
        show_worker_ids=show_worker_ids,
    )
    shown = report if show_worker_ids else hide_worker_ids(report)
    if as_json:
        say_json(shown)
        return
    _print_agreement(shown["agreement"])
    _print_filters(shown["filters"])
    _print_annotators(shown["annotators"])
    for row in shown["exclusions"]:
        say(
            f"{row['task']} {row['field']}: alpha {_alpha(row['before'])}, without the "
            f"{row['annotators']} excluded {_alpha(row['after'])} "
            f"({row['share_removed']:.1%} of judgments removed)."
        )
    for row in shown["pay"]:
        if row["median_hourly_pay"] < row["floor"]:
            note(
                f"warning: the median annotator of {row['task']} earns "
                f"{row['median_hourly_pay']:.2f} USD per hour, less than {row['floor']:.2f}."
            )
    note(f"Wrote {', '.join(str(path) for path in paths)}.")
    next_step("collect release build 1.0.0" if project.protocol.release else "collect status")


def _alpha(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _print_agreement(rows: list[dict[str, Any]]) -> None:
    shown = [
        (
            row["task"],
            row["field"],
            row["convention"],
            row["coefficient"] + (f" (n = {row['n_raters']})" if row["n_raters"] else ""),
            "undefined" if row["value"] is None else f"{row['value']:.10f}",
            "-" if row["interval"] is None else "{:.3f} to {:.3f}".format(*row["interval"]),
            f"{row['n_items']:,}",
            f"{row['n_judgments']:,}",
            row["reason"] or row["warning"],
        )
        for row in rows
        if row["coefficient"].startswith("krippendorff")
        or row["coefficient"] == "fleiss_kappa_exactly_n"
    ]
    header = ("task", "field", "convention", "coefficient", "value", "95 % interval")
    say(table(shown, (*header, "items", "judgments", "remark")))


def _print_filters(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        say(
            f"{row['task']}: {row['rule']}: {row['passed']:,} passed, {row['failed']:,} failed, "
            f"{row['open']:,} open."
        )


def _print_annotators(rows: list[dict[str, Any]]) -> None:
    counted = Counter(row["action"] for row in rows)
    said = ", ".join(f"{counted[action]} {action}" for action in sorted(counted))
    say(f"{len(rows):,} annotators: {said}.")
    for row in rows:
        if row["action"] in ("exclude", "review"):
            say(f"  {row['action']:<8} {row['worker_id']}: {'; '.join(row['reasons'])}")
