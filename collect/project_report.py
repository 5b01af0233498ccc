"""The project's page: what each stage left on disk, gathered and laid out in one HTML file."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairs_to_words.project.config import Config
from pairs_to_words.project.files import read_json, read_parquet, write_text
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import ProtocolDeclaration

EXAMPLE_PIVOTS = 3
EXAMPLE_OUTPUTS = 12
SHOWN_COEFFICIENTS = (
    "krippendorff_alpha_nominal",
    "fleiss_kappa_exactly_n",
    "pairwise_percent_agreement",
)
"""The page shows these in the project's convention; the audit has all of them in both."""


@dataclass(frozen=True)
class Facts:
    """What the page shows; a stage that has not run is None (or empty).

    Attributes:
        title: The protocol's title.
        sample: Counts per level, funnel, example pivots with their branches.
        audit: The audit's JSON.
        release: Version and measured statistics of the newest release.
        model: Metrics and outputs of the newest run.
    """

    title: str
    sample: dict[str, Any] | None = None
    audit: dict[str, Any] | None = None
    release: dict[str, Any] | None = None
    model: dict[str, Any] | None = None
    present: list[str] = field(default_factory=list)


def gather(layout: Layout, config: Config, protocol: ProtocolDeclaration) -> Facts:
    """Collect what finished stages left; damaged files raise `UserError` naming them."""
    sections = {
        "sample": _sample(layout, config.sample.name),
        "audit": _audit(layout, config.qc.convention),
        "release": _release(layout),
        "model": _model(layout),
    }
    present = [name for name, section in sections.items() if section]
    return Facts(title=protocol.title, present=present, **sections)


def build_report(layout: Layout, facts: Facts) -> Path:
    """Write report/index.html and return its path."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pairs_to_words.collect", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda value: f"{value:,}"
    environment.filters["photo"] = lambda sha256: photo_uri(layout, sha256)
    page = layout.root / "report" / "index.html"
    write_text(page, environment.get_template("report.html").render(facts=facts))
    return page


def photo_uri(layout: Layout, sha256: str) -> str:
    """Return a photo as a data URI, or an empty image when the file is not here."""
    path = layout.photo_file(sha256)
    if not path.exists():
        return "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
    return "data:image/jpeg;base64," + base64.b64encode(path.read_bytes()).decode()


def _sample(layout: Layout, name: str) -> dict[str, Any] | None:
    folder = layout.sample(name)
    if not (folder / "manifest.json").exists():
        return None
    pairs = read_parquet(folder / "pairs.parquet").to_pylist()
    index = read_parquet(layout.photos / "index.parquet", columns=["photo_id", "sha256"])
    hashes = dict(zip(*(index[column].to_pylist() for column in index.column_names), strict=True))
    names = {
        row["species_id"]: row["common_name"] or row["species"]
        for row in read_parquet(layout.catalog / "taxa.parquet").to_pylist()
    }
    by_pivot: dict[int, list[dict[str, Any]]] = {}
    for pair in pairs:
        by_pivot.setdefault(pair["pivot_index"], []).append(pair)
    examples = [
        {
            "photo": hashes[branches[0]["pivot_photo_id"]],
            "name": names[branches[0]["pivot_species_id"]],
            "branches": [
                {
                    "photo": hashes[pair["branch_photo_id"]],
                    "name": names[pair["branch_species_id"]],
                    "level": pair["level_requested"],
                }
                for pair in branches
            ],
        }
        for branches in list(by_pivot.values())[:EXAMPLE_PIVOTS]
    ]
    return {
        "name": name,
        "pairs": len(pairs),
        "pivots": len(by_pivot),
        "levels": dict(Counter(pair["level_requested"] for pair in pairs)),
        "funnel": read_json(folder / "funnel.json"),
        "examples": examples,
    }


def _audit(layout: Layout, convention: str) -> dict[str, Any] | None:
    path = layout.reports / "audit.json"
    if not path.exists():
        return None
    audit: dict[str, Any] = read_json(path)
    actions = Counter(row["action"] for row in audit["annotators"])
    flagged = [row for row in audit["annotators"] if row["action"] != "keep"]
    order = ["exclude", "review", "watch"]
    flagged.sort(key=lambda row: order.index(row["action"]) if row["action"] in order else 9)
    shown = [
        row
        for row in audit["agreement"]
        if row["convention"] == convention and row["coefficient"] in SHOWN_COEFFICIENTS
    ]
    return audit | {"actions": dict(actions), "flagged": flagged, "shown": shown}


def _release(layout: Layout) -> dict[str, Any] | None:
    newest = _newest(layout.root / "releases", "MANIFEST.json")
    if newest is None:
        return None
    return {"version": newest.name, "statistics": read_json(newest / "statistics.json")}


def _model(layout: Layout) -> dict[str, Any] | None:
    newest = _newest(layout.root / "models", "metrics.json")
    if newest is None:
        return None
    outputs = read_json(newest / "samples.json")[:EXAMPLE_OUTPUTS]
    return {"run": newest.name, "metrics": read_json(newest / "metrics.json"), "outputs": outputs}


def _newest(folder: Path, last_file: str) -> Path | None:
    finished = [path.parent for path in folder.glob(f"[!.]*/{last_file}")]
    return max(finished, key=lambda path: (path / last_file).stat().st_mtime_ns, default=None)
