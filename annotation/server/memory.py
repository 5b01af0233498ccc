"""What the server keeps in memory between calls: rows that never change, and when time matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pairs_to_words.annotation.money import MASTERS, reward_fee
from pairs_to_words.annotation.server.tables import hit_types
from sqlalchemy import Connection, select

FAR_FUTURE = 2**62


@dataclass
class Memory:
    """Caches of one running server; everything here can be read again from the database.

    Attributes:
        due: The earliest moment (ms) at which a deadline, expiry or auto-approval may fall.
        hit_types: HIT types by id: they never change.
    """

    due: int = 0
    hit_types: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def note(self, moment: int) -> None:
        """Remember that something falls due at `moment`."""
        self.due = min(self.due, moment)

    def hit_type(self, connection: Connection, hit_type_id: str) -> Mapping[str, Any]:
        """Return a HIT type that exists."""
        found = self.hit_types.get(hit_type_id)
        if found is None:
            query = select(hit_types).where(hit_types.c.hit_type_id == hit_type_id)
            found = dict(connection.execute(query).mappings().one())
            self.hit_types[hit_type_id] = found
        return found

    def cost(self, connection: Connection, hit: Mapping[str, Any]) -> tuple[int, int]:
        """Return the reward and the fee (cents) of one approved assignment of a HIT."""
        kind = self.hit_type(connection, hit["hit_type_id"])
        masters = any(r["QualificationTypeId"] in MASTERS for r in kind["requirements"])
        fee = reward_fee(
            kind["reward_cents"], max_assignments=hit["max_assignments"], masters=masters
        )
        return kind["reward_cents"], fee


@dataclass(frozen=True)
class Call:
    """One call of one operation by one requester, inside one transaction.

    Attributes:
        connection: The transaction.
        memory: The server's caches.
        requester_id: Who calls.
        now: Milliseconds since 1970 UTC.
        params: The validated input; times are milliseconds.
    """

    connection: Connection
    memory: Memory
    requester_id: str
    now: int
    params: dict[str, Any]
