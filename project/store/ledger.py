"""The payment ledger: what was intended on the outside, written before each call, and its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from pairs_to_words.project.store.tables import ledger
from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

INTENDED = "intended"
SENT = "sent"
CONFIRMED = "confirmed"
FAILED = "failed"

PUBLISH = "publish"
APPROVE = "approve"
REJECT = "reject"
BONUS = "bonus"

COMMITS = (PUBLISH, BONUS)
"""Kinds that commit new money: an approval pays what publishing had committed."""

Entry = dict[str, Any]


def intend(connection: Connection, entries: Iterable[Entry]) -> None:
    """Write entries that are not there yet (by entry_id) in the state `intended`."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    rows = [{"state": INTENDED, **entry} for entry in entries]
    if rows:
        connection.execute(insert(ledger).on_conflict_do_nothing(), rows)


def set_state(connection: Connection, entry_id: str, state: str, at: str, reply: str = "") -> None:
    """Note that an entry was sent, or how it ended."""
    column = "sent_at" if state == SENT else "settled_at"
    connection.execute(
        update(ledger)
        .where(ledger.c.entry_id == entry_id)
        .values({"state": state, column: at, "reply": reply})
    )


def entries(connection: Connection, kind: str, states: Sequence[str]) -> list[Entry]:
    """Return entries of a kind in some states, oldest first."""
    query = (
        select(ledger)
        .where(ledger.c.kind == kind, ledger.c.state.in_(states))
        .order_by(ledger.c.intended_at, ledger.c.entry_id)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def committed(connection: Connection) -> Decimal:
    """Return USD committed so far, fees included: everything intended that did not fail."""
    query = select(func.coalesce(func.sum(ledger.c.amount + ledger.c.fee), 0)).where(
        ledger.c.kind.in_(COMMITS), ledger.c.state != FAILED
    )
    return Decimal(str(connection.scalar(query))).quantize(Decimal("0.01"))
