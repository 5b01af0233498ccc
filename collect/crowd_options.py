"""Options that commands about the crowd share: which crowd, and how much may be spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def crowd_options(function: Decorated) -> Decorated:
    """Add `--crowd` and `--endpoint-url`."""
    function = click.option(
        "--endpoint-url",
        default="",
        envvar="COLLECT_ENDPOINT",
        metavar="URL",
        help="MTurk-compatible endpoint.  [default: [crowd] endpoint in collect.toml]",
    )(function)
    return click.option(
        "--crowd",
        type=click.Choice(["local", "mturk"]),
        default="local",
        show_default=True,
        help="local: this project's own server; mturk: any compatible endpoint.",
    )(function)


def spending_options(function: Decorated) -> Decorated:
    """Add `--yes` and `--max-cost`."""
    function = click.option(
        "--max-cost",
        metavar="USD",
        callback=_amount,
        help="Refuse to spend more than this, fees included.",
    )(function)
    return click.option("--yes", is_flag=True, help="Do not ask; needs --max-cost.")(function)


def _amount(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    from decimal import Decimal, InvalidOperation

    if value is None:
        return None
    try:
        amount = Decimal(value)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise click.BadParameter(f"{value!r} is no amount; expected USD such as 120.00")
    return value
