"""Plots of the audit as SVG text: no script, no fonts to fetch, the same bytes every time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

INK, SOFT, LINE, ACCENT = "#1b2733", "#4d5b69", "#c9d1d9", "#1f6f8b"
COLOURS = {"keep": "#1f6f8b", "watch": "#8a6d00", "review": "#b4530a", "exclude": "#a3123f"}
"""Colour of each action; every one has at least 4.5:1 contrast on white."""

_WIDTH = 460  # narrow, so that text stays readable on a phone of 390 pixels


def interval_chart(
    rows: Sequence[tuple[str, float | None, float | None, float | None, str]],
    title: str,
    actions: Sequence[str] = (),
) -> str:
    """Draw one value with its interval per row: (name, value, low, high, text at the right).

    With `actions`, one per row, each value has the mark and colour of its action.
    """
    left, right, step, top = 150, 395, 26, 30
    values = [v for row in rows for v in row[1:4] if v is not None]
    low = min(0.0, *values) if values else 0.0
    low = -1.0 if low < -0.5 else (-0.5 if low < 0 else 0.0)

    def x(value: float) -> float:
        return left + (max(min(value, 1.0), low) - low) / (1 - low) * (right - left)

    height = top + step * len(rows) + 12
    parts = _axis(x, low, top - 8, height - 12)
    for index, (name, value, lower, upper, text) in enumerate(rows):
        y = top + index * step + step / 2
        colour = COLOURS[actions[index]] if actions else ACCENT
        parts.append(_text(left - 10, y + 4, name, "end"))
        if value is not None:
            if lower is not None and upper is not None:
                parts.append(
                    f'<line x1="{x(lower):.1f}" x2="{x(upper):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                    f'stroke="{colour}" stroke-width="3"/>'
                )
            parts.append(_mark(x(value), y, actions[index] if actions else "keep"))
        parts.append(_text(right + 12, y + 4, text, "start", SOFT))
    return _svg(parts, height, title)


def scatter_chart(
    points: Sequence[tuple[float, float, str, str]], x_name: str, y_name: str, title: str
) -> str:
    """Draw (x, y from 0 to 1, action, name) points; x on a logarithmic scale when it spans far."""
    left, right, top, bottom = 48, 450, 18, 260
    if not points:
        return ""
    import math

    xs = [max(p[0], 1e-9) for p in points]
    spread = max(xs) / min(xs) > 20
    scale = math.log10 if spread else float
    low, high = scale(min(xs)), scale(max(xs))
    span = (high - low) or 1.0
    parts = []
    for tick in range(0, 11, 2):
        y = bottom - tick / 10 * (bottom - top)
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y}" y2="{y}" stroke="{LINE}"/>')
        parts.append(_text(left - 8, y + 4, f"{tick * 10} %", "end", SOFT))
    for x_value, y_value, action, name in sorted(points, key=lambda p: p[3]):
        cx = left + 12 + (scale(max(x_value, 1e-9)) - low) / span * (right - left - 24)
        cy = bottom - max(0.0, min(1.0, y_value)) * (bottom - top)
        said = f"{escape(name)}: {y_value:.0%}, {x_value:,.1f}; {action}"
        parts.append(_mark(cx, cy, action, said))
    ends = [(left + 12, min(xs), "start"), (right - 12, max(xs), "end")]
    parts += [
        _text(x, bottom + 18, f"{value:,.1f}".removesuffix(".0"), anchor, SOFT)
        for x, value, anchor in ends
    ]
    parts.append(_text((left + right) / 2, bottom + 34, x_name, "middle"))
    parts.append(_text(left, top - 4, y_name, "start"))
    return _svg(parts, bottom + 44, title)


def histogram_chart(values: Sequence[float], x_name: str, title: str, bins: int = 24) -> str:
    """Draw how often values occur; the top one percent is gathered in the last bar."""
    import numpy as np

    if not values:
        return ""
    data = np.asarray(values, dtype=float)
    high = float(np.quantile(data, 0.99)) or 1.0
    counts, edges = np.histogram(np.minimum(data, high), bins=bins, range=(0, high))
    left, right, top, bottom = 48, 450, 16, 190
    width = (right - left) / bins
    most = int(counts.max()) or 1
    parts = [f'<line x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="{SOFT}"/>']
    for index, count in enumerate(counts):
        tall = count / most * (bottom - top)
        parts.append(
            f'<rect x="{left + index * width + 1:.1f}" y="{bottom - tall:.1f}" '
            f'width="{width - 2:.1f}" height="{tall:.1f}" fill="{ACCENT}"><title>'
            f"{edges[index]:.1f} to {edges[index + 1]:.1f}: {count}</title></rect>"
        )
    for index in range(0, bins + 1, 6):
        parts.append(
            _text(left + index * width, bottom + 18, f"{edges[index]:.3g}", "middle", SOFT)
        )
    parts.append(_text((left + right) / 2, bottom + 36, x_name, "middle"))
    parts.append(_text(left - 8, top + 8, f"{most:,}", "end", SOFT))
    return _svg(parts, bottom + 46, title)


def mark_legend() -> str:
    """Return the marks of the actions with their names, sternest first, as SVG."""
    parts = []
    for index, action in enumerate(reversed(COLOURS)):
        parts.append(_mark(12 + index * 100, 14, action))
        parts.append(_text(24 + index * 100, 19, action, "start"))
    return _svg(parts, 28, "Marks: " + ", ".join(reversed(COLOURS)))


def _mark(x: float, y: float, action: str, title: str = "") -> str:
    """Draw an action's mark; shape as well as colour tells them apart."""
    said = f"<title>{title}</title>" if title else ""
    style = f'fill="{COLOURS[action]}" fill-opacity="0.85"'
    if action == "keep":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {style}>{said}</circle>'
    offsets = {
        "watch": ((0, -6), (6, 5), (-6, 5)),
        "review": ((-5, -5), (5, -5), (5, 5), (-5, 5)),
        "exclude": ((0, -7), (7, 0), (0, 7), (-7, 0)),
    }[action]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in offsets)
    return f'<polygon points="{points}" {style}>{said}</polygon>'


def _axis(x: object, low: float, top: float, bottom: float) -> list[str]:
    place = x if callable(x) else float
    ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] if low == 0 else [low, 0.0, 0.5, 1.0]
    parts = []
    for tick in ticks:
        at = place(tick)
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}" stroke="{LINE}"/>'
        )
        parts.append(_text(at, top - 4, f"{tick:g}", "middle", SOFT))
    return parts


def _text(x: float, y: float, text: str, anchor: str, colour: str = INK) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"


def _svg(parts: Sequence[str], height: float, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}" '
        f'xmlns="http://www.w3.org/2000/svg" font-size="13">{"".join(parts)}</svg>'
    )
