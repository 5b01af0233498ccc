"""How many photos, species and pairs each rule kept and removed, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from pairs_to_words.project.files import write_json


@dataclass(frozen=True)
class Step:
    """One rule.

    Attributes:
        step: What was counted, such as `photos: licence`.
        kept: What was left after it.
        removed: What it removed.
        why: The rule in words.
    """

    step: str
    kept: int
    removed: int
    why: str


@dataclass
class Funnel:
    """Steps in the order in which the rules are applied."""

    steps: list[Step] = field(default_factory=list)

    def add(self, step: str, *, kept: int, removed: int, why: str) -> None:
        """Append one step."""
        self.steps.append(Step(step, int(kept), int(removed), why))

    def rows(self) -> list[dict[str, object]]:
        """Return the steps as `funnel.json` holds them."""
        return [asdict(step) for step in self.steps]

    def write(self, path: Path) -> None:
        """Write `funnel.json`."""
        write_json(path, self.rows())
