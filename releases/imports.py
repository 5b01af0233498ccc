"""Write published files as a release of this format."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version as code_version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_file
from pairs_to_words.releases.card import changelog, citation
from pairs_to_words.releases.formats.reading import Published
from pairs_to_words.releases.frame import Contents, write_release
from pairs_to_words.releases.read import Release
from pairs_to_words.releases.tally import tally
from pairs_to_words.releases.versions import parse_version


def import_release(
    published: Published,
    sources: Sequence[Path],
    target: Path,
    version: str,
    *,
    allow_leaks: bool = False,
) -> Release:
    """Write published rows as a release in `target`, splits as published.

    Raises:
        UserError: `target` is there, the version is no version, or splits share what they may
            not and `allow_leaks` is false.
    """
    parse_version(version)
    if target.exists():
        raise UserError(f"{target} is there already.", "A release is never overwritten.")
    statistics: dict[str, Any] = tally(published.kind, published.rows, published.splits)
    statistics |= {
        "photos": len(published.attributions),
        "judgments": published.judgments.num_rows,
        "simulated_texts": 0,
        "funnel": dict(published.funnel),
    } | dict(published.measured)
    contents = Contents(
        kind=published.kind,
        rows=published.rows,
        judgments=published.judgments,
        attributions=published.attributions,
        splits=published.splits,
        statistics=statistics,
        manifest={
            "name": published.kind.name,
            "title": published.title,
            "version": version,
            "license": f"https://spdx.org/licenses/{published.license}",
            "simulated": False,
            "counts": {"texts": len(published.rows), "judgments": published.judgments.num_rows},
            "inputs": {path.name: hash_file(path) for path in sources},
            "code_version": code_version("pairs-to-words"),
        },
        texts={
            "README.md": _card(published, version, statistics),
            "CITATION.cff": citation(published.title, version, [published.citation]),
            "CHANGELOG.md": changelog(
                version, None, added=len(published.rows), removed=0, changed=0, moved=0
            ),
        },
    )
    return write_release(target, contents, allow_leaks=allow_leaks)


def _card(published: Published, version: str, statistics: dict[str, Any]) -> str:
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    source = files("pairs_to_words.releases") / "templates" / "imported.md"
    return environment.from_string(source.read_text(encoding="utf-8")).render(
        published=published, version=version, statistics=statistics
    )
