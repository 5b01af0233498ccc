"""Progress as an argument: long functions announce steps, the caller decides how to show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], object]


class Progress(Protocol):
    """Opens one bar: `with progress("embed", total=900, unit="photo") as advance: advance(64)`."""

    def __call__(
        self, label: str, *, total: int | None, unit: str
    ) -> AbstractContextManager[Advance]:
        """Announce `total` steps of `unit` under `label`; the value advances by a count."""
        ...


@contextmanager
def no_progress(label: str, *, total: int | None, unit: str) -> Iterator[Advance]:
    """Show nothing: the default for library use."""
    yield lambda _count: None
