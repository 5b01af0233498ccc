"""Write the audit as a self-contained page, a table for people and JSON for programs."""

from __future__ import annotations

import csv
import io
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from pairs_to_words.project.files import write_json, write_text
from pairs_to_words.qc.agreement import REASONS
from pairs_to_words.qc.annotators import ACTIONS
from pairs_to_words.qc.charts import (
    COLOURS,
    histogram_chart,
    interval_chart,
    mark_legend,
    scatter_chart,
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters with which a spreadsheet takes a cell for a formula."""

_MOST_ROWS = 30  # annotators in the chart of intervals; the table has all

COLUMNS = (
    "annotator task action judgments items active_days peer_agreement peer_low peer_high skill "
    "gold_agreement gold_items median_seconds entropy drift texts median_words vocabulary copies "
    "violations pastes hourly_pay simulated reasons"
)


def write_report(
    directory: Path, report: dict[str, Any], *, project: str, show_worker_ids: bool = False
) -> list[Path]:
    """Write audit.html, audit.csv and audit.json; the same audit gives the same bytes."""
    shown = report if show_worker_ids else hide_worker_ids(report)
    paths = [directory / f"audit.{suffix}" for suffix in ("html", "csv", "json")]
    write_text(paths[0], audit_page(shown, project=project, show_worker_ids=show_worker_ids))
    write_text(paths[1], audit_csv(shown, show_worker_ids=show_worker_ids))
    write_json(paths[2], shown)
    return paths


def hide_worker_ids(report: dict[str, Any]) -> dict[str, Any]:
    """Return the audit with pseudonyms in the place of worker ids."""
    hidden = dict(report)
    for key in ("annotators", "annotator_tasks"):
        rows = [row | {"worker_id": row["pseudonym"]} for row in report[key]]
        hidden[key] = sorted(rows, key=lambda row: (row["worker_id"], str(row.get("task", ""))))
    return hidden


def audit_page(report: dict[str, Any], *, project: str, show_worker_ids: bool = False) -> str:
    """Return the page: no script and no request to anywhere; all text is escaped."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    source = files("pairs_to_words.qc") / "templates" / "audit.html"
    people = report["annotators"]
    stern = {action: index for index, action in enumerate(ACTIONS)}
    flagged = [row for row in people if row["action"] != "keep"]
    judged = [row for row in people if row["peer_agreement"] is not None]
    name = "worker_id" if show_worker_ids else "pseudonym"
    times = [row["median_seconds"] for row in people if row["median_seconds"] is not None]
    return environment.from_string(source.read_text(encoding="utf-8")).render(
        project=project,
        report=report,
        show_ids=show_worker_ids,
        actions=ACTIONS[::-1],
        colours=COLOURS,
        reasons=REASONS,
        counts=Counter(row["action"] for row in people),
        simulated=sum(row["simulated"] for row in people),
        flagged=sorted(flagged, key=lambda row: (-stern[row["action"]], row[name])),
        agreement_chart=Markup(_agreement_chart(report)),
        scatter=Markup(
            scatter_chart(
                [
                    (row["median_seconds"], row["peer_agreement"], row["action"], row[name])
                    for row in judged
                    if row["median_seconds"]
                ],
                "median seconds per item",
                "agreement",
                "Agreement and work time of each annotator",
            )
        ),
        forest=Markup(_annotator_chart(judged, name)),
        legend=Markup(mark_legend()),
        times=Markup(histogram_chart(times, "seconds per item", "Work times")),
    )


def audit_csv(report: dict[str, Any], *, show_worker_ids: bool = False) -> str:
    """Return one row per annotator and task; no cell can act as a spreadsheet formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns = COLUMNS.split()
    writer.writerow(columns)
    for row in report["annotator_tasks"]:
        violations = "; ".join(f"{kind} {count}" for kind, count in row["violations"].items())
        cells = row | {
            "annotator": row["worker_id" if show_worker_ids else "pseudonym"],
            "violations": violations,
            "reasons": "; ".join(row["reasons"]),
        }
        writer.writerow([_cell(cells[column]) for column in columns])
    return buffer.getvalue()


def _agreement_chart(report: dict[str, Any]) -> str:
    rows = [
        (
            f"{row['task']}: {row['field']}",
            row["value"],
            row["interval"][0] if row["interval"] else None,
            row["interval"][1] if row["interval"] else None,
            "undefined: " + row["reason"] if row["value"] is None else f"{row['value']:.3f}",
        )
        for row in report["agreement"]
        if row["coefficient"].startswith("krippendorff_alpha")
        and row["convention"] == report["convention"]
    ]
    return interval_chart(rows, "Krippendorff's alpha per task") if rows else ""


def _annotator_chart(judged: list[dict[str, Any]], name: str) -> str:
    """Draw the annotators who agree least with the others, with their intervals."""
    lowest = sorted(judged, key=lambda row: (row["peer_agreement"], row[name]))[:_MOST_ROWS]
    if not lowest:
        return ""
    rows = [
        (
            str(row[name])[:20],
            row["peer_agreement"],
            row["peer_interval"][0],
            row["peer_interval"][1],
            f"{row['peer_agreement']:.0%}",
        )
        for row in lowest
    ]
    actions = [row["action"] for row in lowest]
    return interval_chart(rows, "Agreement of each annotator with the others", actions)


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value
