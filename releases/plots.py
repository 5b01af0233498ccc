"""Plots of a release as SVG, drawn from its statistics; the same numbers give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairs_to_words.project.files import write_text

_WIDTH, _BAR, _GAP, _LEFT = 640, 18, 6, 190

_PLOTS = {
    "length-words": ("Words per text", "words_histogram"),
    "length-sentences": ("Sentences per text", "sentences_histogram"),
    "levels": ("Texts per level", "texts_by_level"),
    "labels": ("Rows per label", "rows_by_label"),
    "agreement": ("Krippendorff's alpha", "agreement"),
}


def draw_plots(folder: Path, statistics: Mapping[str, Any]) -> list[str]:
    """Write one SVG per measure that the statistics hold; return the file names."""
    drawn = []
    for name, (title, key) in _PLOTS.items():
        values = {k: v for k, v in statistics.get(key, {}).items() if v is not None}
        if values:
            write_text(folder / f"{name}.svg", bars(title, values))
            drawn.append(f"{name}.svg")
    return drawn


def bars(title: str, values: Mapping[str, float]) -> str:
    """Return an SVG of horizontal bars with their numbers; a screen reader gets title and text."""
    height = 40 + len(values) * (_BAR + _GAP)
    most = max([abs(v) for v in values.values()] + [1e-12])
    scale = (_WIDTH - _LEFT - 80) / most
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" role="img" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f"<title>{_escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="20" font-size="14" font-weight="bold">{_escape(title)}</text>',
    ]
    for place, (name, value) in enumerate(values.items()):
        y = 34 + place * (_BAR + _GAP)
        width = max(0.0, value) * scale
        said = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
        parts += [
            f'<text x="{_LEFT - 6}" y="{y + 13}" text-anchor="end">{_escape(_short(name))}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="#33658a"/>',
            f'<text x="{_LEFT + width + 5:.1f}" y="{y + 13}">{said}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _short(name: str, most: int = 30) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
