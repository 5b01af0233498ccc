"""DATASHEET.md after Gebru et al. 2021 (Datasheets for Datasets): answers that can be measured.

A question whose answer only a person knows is asked, not answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined


def datasheet(
    manifest: Mapping[str, Any], statistics: Mapping[str, Any], leaks: Mapping[str, Any]
) -> str:
    """Return DATASHEET.md of a release."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    source = files("pairs_to_words.releases") / "templates" / "DATASHEET.md"
    return environment.from_string(source.read_text(encoding="utf-8")).render(
        manifest=manifest, statistics=statistics, leaks=leaks
    )
