"""Amounts and fees: exact, in cents inside the server and as `12.30` outside."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

FEE_RATE = Decimal("0.20")
MANY_ASSIGNMENTS_RATE = Decimal("0.20")
MASTERS_RATE = Decimal("0.05")
MANY_ASSIGNMENTS = 10
"""A HIT with this many assignments costs MANY_ASSIGNMENTS_RATE more (the 2015 fee notice)."""

MASTERS = frozenset({"2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"})


def to_cents(amount: str) -> int:
    """Read an amount that the model's pattern accepted (`5`, `5.`, `5.5`, `5.50`)."""
    return int(Decimal(amount) * 100)


def from_cents(cents: int) -> str:
    """Write an amount as the service does: `5.50`."""
    return str(Decimal(cents).scaleb(-2).quantize(Decimal("0.01")))


def reward_fee(reward_cents: int, *, max_assignments: int, masters: bool) -> int:
    """Return the fee in cents on one approved assignment, at least one cent."""
    rate = FEE_RATE
    if max_assignments >= MANY_ASSIGNMENTS:
        rate += MANY_ASSIGNMENTS_RATE
    if masters:
        rate += MASTERS_RATE
    return _fee(reward_cents, rate)


def bonus_fee(bonus_cents: int) -> int:
    """Return the fee in cents on a bonus, at least one cent."""
    return _fee(bonus_cents, FEE_RATE)


def _fee(cents: int, rate: Decimal) -> int:
    return max(1, int((cents * rate).quantize(Decimal(1), ROUND_HALF_UP)))
