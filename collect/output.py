"""How commands speak: results on stdout, everything else on stderr, progress, next steps."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.progress import Advance

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def json_option(function: Decorated) -> Decorated:
    """Add `--json` to a command that reports."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(function)


def say(text: str) -> None:
    """Print a result line on stdout."""
    click.echo(text)


def note(text: str) -> None:
    """Print a remark on stderr."""
    click.echo(text, err=True)


def say_json(value: Any) -> None:
    """Print one JSON object on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def next_step(command: str) -> None:
    """End a long run with the command to type next."""
    note(f"next: {command}")


def table(rows: Sequence[Sequence[object]], header: Sequence[str]) -> str:
    """Lay out rows as plain text columns; numbers are set to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(r[i]) for r in [list(header), *cells]) for i in range(len(header))]
    right = [
        bool(rows) and all(isinstance(r[i], int | float) for r in rows) for i in range(len(header))
    ]

    def line(parts: Sequence[str]) -> str:
        laid = [
            part.rjust(width) if flush else part.ljust(width)
            for part, width, flush in zip(parts, widths, right, strict=True)
        ]
        return "  ".join(laid).rstrip()

    return "\n".join([line(header), line(["-" * w for w in widths]), *map(line, cells)])


@contextmanager
def show_progress(label: str, *, total: int | None, unit: str) -> Iterator[Advance]:
    """Show a bar with rate and time left on a terminal, else one line each 10 percent."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, desc=label, unit=unit, file=sys.stderr) as bar:
            yield bar.update
        return
    done = 0
    printed = 0

    def advance(count: int) -> None:
        nonlocal done, printed
        done += count
        if total and (tenth := done * 10 // total) > printed:
            printed = tenth
            note(f"{label}: {done:,} of {total:,} {unit} ({tenth * 10} %)")

    yield advance


def confirm_spending(question: str, cost: str, *, yes: bool, max_cost: str | None) -> None:
    """Ask before money is spent; a script must say `--yes --max-cost`.

    Args:
        question: What will happen.
        cost: The total in USD, two decimals.
        yes: The person said `--yes`.
        max_cost: The cap given with `--max-cost`, or None.

    Raises:
        UserError: No terminal and not both options, or the cost is above the cap.
    """
    from decimal import Decimal

    if max_cost is not None and Decimal(cost) > Decimal(max_cost):
        raise UserError(
            f"This costs {cost} USD, more than --max-cost {max_cost}.", "Nothing was sent."
        )
    if yes and max_cost is not None:
        return
    if not sys.stdin.isatty():
        raise UserError(
            f"{question} It costs {cost} USD and there is no terminal to ask on.",
            f"Add `--yes --max-cost {cost}`.",
        )
    click.confirm(f"{question} Total {cost} USD. Go on?", abort=True, err=True)
