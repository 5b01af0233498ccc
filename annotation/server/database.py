"""Open the crowd server's database, bring its schema up to date, and read and write it safely."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from pairs_to_words.project.errors import CouldNotError
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

Result = TypeVar("Result")
Work = Callable[[Connection], Result]

GROUP = 64
"""Most writes that share one commit: each fsync is paid once per group."""

READERS = 2


def open_database(url: str) -> Engine:
    """Connect and migrate.

    Raises:
        CouldNotError: The database is newer than this version, damaged or not reachable.
    """
    engine = create_engine(url, pool_pre_ping=not url.startswith("sqlite"))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin)
    try:
        migrate(engine)
    except DBAPIError as error:
        raise CouldNotError(
            f"The crowd database {engine.url!r} cannot be used: {error.orig}.",
            "Check that it is reachable, writable and not damaged.",
        ) from error
    return engine


def migrate(engine: Engine) -> None:
    """Bring the schema to the newest revision; do nothing when it is there already."""
    config = AlembicConfig()
    folder = files("pairs_to_words.annotation.server") / "migrations"
    config.set_main_option("script_location", str(folder))
    head = ScriptDirectory.from_config(config).get_current_head()
    with engine.connect() as connection:
        present = MigrationContext.configure(connection).get_current_revision()
    if present == head:
        return
    with engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise CouldNotError(
                f"The crowd database is at revision {present}, unknown to this version.",
                "Upgrade pairs-to-words.",
            ) from error


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own implicit BEGIN would leave DDL outside transactions: SQLAlchemy sends BEGIN.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # FULL: a commit returns after its fsync, so an acknowledged submit survives a power cut too.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.execute("PRAGMA cache_size=-32768")
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


class Database:
    """One writer thread with group commit, and a few readers that see what was committed.

    A write is a function of a connection. It runs inside a savepoint of its own; all writes that
    wait at the same time share one COMMIT and are answered after it, so that an answered write is
    on disk. Used from one event loop.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(writes=True)
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="crowd-read")
        self._writer = threading.Thread(target=self._write_forever, name="crowd-write", daemon=True)
        self._writer.start()

    async def write(self, work: Work[Result]) -> Result:
        """Run `work` in a transaction; return when it is durable, or raise what it raised."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._queue.put(_Job(work, future, loop))
        return await future

    async def read(self, work: Work[Result]) -> Result:
        """Run `work` on a reading connection."""

        def run() -> Result:
            with self.engine.connect() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._readers, run)

    def close(self) -> None:
        """Finish what waits, then close every connection."""
        self._queue.put(None)
        self._writer.join()
        self._readers.shutdown()
        self.engine.dispose()

    def _write_forever(self) -> None:
        while True:
            group, stop = self._next_group()
            if group:
                self._write_group(group)
            if stop:
                return

    def _next_group(self) -> tuple[list[_Job], bool]:
        group: list[_Job] = []
        job = self._queue.get()
        while job is not None:
            group.append(job)
            if len(group) == GROUP:
                return group, False
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _write_group(self, group: list[_Job]) -> None:
        try:
            with self._writing.begin() as connection:
                for job in group:
                    job.run(connection)
        except BaseException as error:
            # The commit itself failed (disk full, connection lost): nobody was told of success.
            for job in group:
                job.fail(error)
        loop = group[0].loop
        loop.call_soon_threadsafe(_answer, group)


class _Job:
    """One write that waits, its result, and who is to be told."""

    def __init__(
        self, work: Work[Any], future: asyncio.Future[Any], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.work = work
        self.future = future
        self.loop = loop
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self, connection: Connection) -> None:
        connection.exec_driver_sql("SAVEPOINT job")
        try:
            self.result = self.work(connection)
        except DBAPIError as error:
            if error.connection_invalidated or _is_disk_error(error):
                raise
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
            self.error = error
        except Exception as error:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
            self.error = error
        connection.exec_driver_sql("RELEASE SAVEPOINT job")

    def fail(self, error: BaseException) -> None:
        self.error = error


def _is_disk_error(error: DBAPIError) -> bool:
    # After these SQLite may have rolled the whole transaction back by itself.
    words = str(error.orig).lower()
    return any(sign in words for sign in ("disk is full", "disk i/o", "readonly", "malformed"))


def _answer(group: list[_Job]) -> None:
    for job in group:
        if job.future.cancelled():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
