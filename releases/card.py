"""The texts of a release: dataset card, citation, changelog and attributions."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from pairs_to_words.project.protocol import ProtocolDeclaration, ReleaseRule

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def dataset_card(
    title: str,
    version: str,
    protocol: ProtocolDeclaration,
    rule: ReleaseRule,
    statistics: Mapping[str, Any],
) -> str:
    """Return README.md: Hugging Face YAML, then the measured numbers."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    source = files("pairs_to_words.releases") / "templates" / "README.md"
    size = next((name for most, name in _SIZES if statistics["texts"] < most), "n>1M")
    return environment.from_string(source.read_text(encoding="utf-8")).render(
        title=title,
        version=version,
        protocol=protocol,
        splits=list(rule.splits),
        split_key=rule.split_key.removesuffix("_id"),
        statistics=statistics,
        size_category=size,
    )


def citation(title: str, version: str, authors: Sequence[str]) -> str:
    """Return CITATION.cff (1.2.0)."""
    names = authors or [f"Contributors of {title}"]
    listed = "".join(f"  - name: {json.dumps(name, ensure_ascii=False)}\n" for name in names)
    return (
        "cff-version: 1.2.0\n"
        "message: If you use this dataset, please cite it as below.\n"
        "type: dataset\n"
        f"title: {json.dumps(title, ensure_ascii=False)}\n"
        f"version: {json.dumps(version)}\n"
        f"authors:\n{listed}"
    )


def changelog(
    version: str, before: str | None, *, added: int, removed: int, changed: int, moved: int
) -> str:
    """Return CHANGELOG.md of one version against the one before it."""
    if before is None:
        return f"# Changes\n\n## {version}\n\nFirst release: {added:,} texts.\n"
    return (
        f"# Changes\n\n## {version}\n\nSince {before}: {added:,} texts added, {removed:,} removed, "
        f"{changed:,} changed, {moved:,} moved to another split.\n"
    )


def attributions_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return attributions.csv: one photo per row."""
    buffer = io.StringIO()
    columns = list(rows[0]) if rows else ["photo_id", "license", "attribution", "url"]
    writer = csv.DictWriter(buffer, fieldnames=columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()
