"""How many branches each pivot gets: visual neighbours and draws per taxonomic level."""

from __future__ import annotations

from dataclasses import dataclass

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import LEVELS, VISUAL

_ALIASES = {str(number): level for number, level in enumerate(LEVELS, start=1)}
"""Level numbers of the paper (B.3): 1 is species, 5 is class."""


@dataclass(frozen=True)
class Plan:
    """Branches per pivot.

    Attributes:
        visual: Nearest photos by embedding distance.
        levels: Draws per level, in the order of `LEVELS`; a level without draws is absent.
    """

    visual: int
    levels: dict[str, int]

    @property
    def total(self) -> int:
        """Branches per pivot, the paper's k."""
        return self.visual + sum(self.levels.values())

    def words(self) -> str:
        """Write the plan as `--plan` reads it."""
        parts = {VISUAL: self.visual, **self.levels} if self.visual else self.levels
        return ",".join(f"{name}={count}" for name, count in parts.items())


def parse_plan(text: str) -> Plan:
    """Read `visual=2,species=2,genus=2,...`; a level that is not named gets no draws.

    Raises:
        UserError: An unknown level, a count that is no number, a level twice, or nothing at all.
    """
    counts: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        name = _ALIASES.get(name, name)
        if name not in (VISUAL, *LEVELS):
            raise UserError(
                f"Plan {text!r}: there is no level {name!r}.",
                f"Levels: {VISUAL}, {', '.join(LEVELS)} (or 1 to 5).",
            )
        if name in counts:
            raise UserError(f"Plan {text!r}: {name} is given twice.", "Name each level once.")
        if not number.isdecimal():
            raise UserError(
                f"Plan {text!r}: {name} has the count {number!r}.", f"Write such as `{name}=2`."
            )
        counts[name] = int(number)
    if not sum(counts.values()):
        raise UserError(f"Plan {text!r} asks for no branches.", "Write such as `visual=2,genus=2`.")
    levels = {level: counts[level] for level in LEVELS if counts.get(level)}
    return Plan(counts.get(VISUAL, 0), levels)


def check_total(plan: Plan, k: int) -> None:
    """Refuse a `--k` that is not the plan's sum.

    Raises:
        UserError: It is not; the message shows the sum.
    """
    if plan.total != k:
        raise UserError(
            f"--k {k} is not the plan's sum: {plan.words()} makes {plan.total}.",
            f"Use --k {plan.total} or another --plan.",
        )
