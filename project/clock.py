"""Time as an argument: everything that needs the time of day is given a `Clock`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the present time in UTC, timezone-aware."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """Write a moment as ISO 8601 in UTC with milliseconds: the format of every table and log."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
