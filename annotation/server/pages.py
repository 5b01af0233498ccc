"""Render the site's pages: templates, safe headers, amounts and times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pairs_to_words.annotation.money import from_cents
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

SITE_POLICY = (
    "default-src 'self'; img-src 'self' data: http: https:; frame-src 'self' http: https:; "
    "script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
FRAME_SANDBOX = "allow-scripts allow-forms allow-popups allow-modals"
FRAME_POLICY = f"sandbox {FRAME_SANDBOX}; frame-ancestors 'self'"
"""A requester's HTML runs in an origin of its own: it reaches no cookie and no page of ours."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pairs_to_words.annotation.server", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"usd": usd, "moment": moment, "duration": duration}
    return environment


def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page of the site."""
    html = _environment().get_template(template).render(**values)
    response = HTMLResponse(html, status)
    secure(response, SITE_POLICY)
    return response


def render_inside(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page that may also appear in the task's frame of our own work page."""
    response = render(template, status, **values)
    response.headers["Content-Security-Policy"] = SITE_POLICY.replace(
        "frame-ancestors 'none'", "frame-ancestors 'self'"
    )
    return response


def secure(response: Response, policy: str) -> None:
    """Add the headers that keep other sites and other people's HTML away from a page."""
    response.headers["Content-Security-Policy"] = policy
    response.headers["X-Content-Type-Options"] = "nosniff"
    # Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
    response.headers["Referrer-Policy"] = "same-origin"
    response.headers["Cache-Control"] = "no-store"


def wants_json(request: Request) -> bool:
    """Say whether the client asks for JSON instead of a page."""
    return "application/json" in request.headers.get("accept", "")


def usd(cents: int) -> str:
    """Write cents as `$0.40`, `$1,000.00`."""
    amount = f"${Decimal(from_cents(abs(cents))):,}"
    return f"-{amount}" if cents < 0 else amount


def moment(milliseconds: int) -> str:
    """Write a moment as `2026-12-01 12:30 UTC`."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def duration(seconds: float) -> str:
    """Write a duration as `45 s`, `12 min`, `3 h` or `2 days`."""
    if seconds < 90:
        return f"{round(seconds)} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    if seconds < 172_800:
        return f"{round(seconds / 3600)} h"
    return f"{round(seconds / 86_400)} days"
