"""Open the state database, bring its schema up to date, and keep SQLite safe under kill -9."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from pairs_to_words.project.config import Config
from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.layout import Layout
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError


def open_store(layout: Layout, config: Config) -> Engine:
    """Open a project's state, migrating it to this version's schema.

    Raises:
        CouldNotError: The database cannot be reached, is damaged, or is newer than this version.
    """
    engine = connect(config.project.database or f"sqlite:///{layout.state}")
    try:
        migrate(engine)
    except DatabaseError as error:
        raise CouldNotError(
            f"The state database {engine.url!r} cannot be used: {error.orig}.",
            "Check that it is reachable and not damaged.",
        ) from error
    return engine


def connect(url: str) -> Engine:
    """Make an engine: WAL, enforced foreign keys and full fsync on SQLite."""
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    return engine


def migrate(engine: Engine) -> None:
    """Bring the schema to the newest revision; do nothing when it is there already.

    Raises:
        CouldNotError: The database was written by a newer version.
    """
    config = AlembicConfig()
    config.set_main_option("script_location", str(files("pairs_to_words.project") / "migrations"))
    head = ScriptDirectory.from_config(config).get_current_head()
    with engine.connect() as connection:
        present = MigrationContext.configure(connection).get_current_revision()
    if present == head:
        return
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise CouldNotError(
                f"The state database is at revision {present}, unknown to this version.",
                "Upgrade pairs-to-words.",
            ) from error


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """Run one all-or-nothing block of reads and writes."""
    with engine.begin() as connection:
        yield connection


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own implicit BEGIN would leave DDL outside transactions: SQLAlchemy sends BEGIN.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    # Take the write lock at BEGIN: two writers wait for each other instead of failing half-way.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
