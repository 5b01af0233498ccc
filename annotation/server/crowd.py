"""One running crowd: its database, its clock, its caches, and where it can be reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pairs_to_words.annotation.server.database import Database
from pairs_to_words.annotation.server.memory import Memory
from pairs_to_words.annotation.server.tables import access_keys
from pairs_to_words.annotation.server.timers import settle
from pairs_to_words.project.clock import Clock
from sqlalchemy import Connection, select

Result = TypeVar("Result")


@dataclass
class Crowd:
    """What every part of the server is given.

    Attributes:
        database: Where everything is.
        clock: The time.
        admin_token: Opens the requester pages and the admin endpoints.
        photos: Content-addressed photos to serve, None for none.
        public_url: Where workers reach the site; empty means as each request says.
        memory: Caches of the requester protocol.
        sessions: Sessions in use by their hash.
    """

    database: Database
    clock: Clock
    admin_token: str
    photos: Path | None = None
    public_url: str = ""
    memory: Memory = field(default_factory=Memory)
    sessions: dict[str, Any] = field(default_factory=dict)
    _keys: dict[str, tuple[str, str]] = field(default_factory=dict)

    def now(self) -> int:
        """Return the time in milliseconds since 1970 UTC."""
        return int(self.clock().timestamp() * 1000)

    async def write(self, work: Callable[[Connection, int], Result]) -> Result:
        """Run `work(connection, now)` after everything that fell due before it."""
        await self.tick()
        return await self.database.write(lambda connection: work(connection, self.now()))

    async def read(self, work: Callable[[Connection, int], Result]) -> Result:
        """Run `work(connection, now)` on a state in which everything due has happened."""
        await self.tick()
        return await self.database.read(lambda connection: work(connection, self.now()))

    async def tick(self) -> None:
        """Let happen what fell due."""
        if self.memory.due > self.now():
            return
        try:
            await self.database.write(self._settle)
        except BaseException:
            self.memory.due = 0  # nothing was settled: the next call tries again
            raise

    def _settle(self, connection: Connection) -> None:
        now = self.now()
        if self.memory.due <= now:
            settle(connection, self.memory, now)

    async def key(self, access_key_id: str) -> tuple[str, str] | None:
        """Return the secret and the requester of an access key, None when it is not valid."""
        if access_key_id not in self._keys:
            query = select(access_keys).where(
                access_keys.c.access_key_id == access_key_id, access_keys.c.active
            )
            row = await self.database.read(
                lambda connection: connection.execute(query).mappings().one_or_none()
            )
            if row is None:
                return None
            self._keys[access_key_id] = (row["secret_access_key"], row["requester_id"])
        return self._keys[access_key_id]
