"""Fixtures that every folder of tests may use: a project directory, a state database, real data."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pairs_to_words.project.create import create_project
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.store.engine import connect, migrate
from sqlalchemy import Engine, create_engine, text

POSTGRES = "COLLECT_TEST_POSTGRES"
"""Environment variable with the URL of a PostgreSQL database in which tests may make schemas."""


@pytest.fixture
def project(tmp_path: Path) -> Layout:
    """An empty birds-to-words project."""
    return create_project(tmp_path / "project", protocol="birds-to-words")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A fresh, migrated state database; on PostgreSQL a schema of its own."""
    if request.param == "sqlite":
        engine = connect(f"sqlite:///{tmp_path / 'state.db'}")
        migrate(engine)
        yield engine
        engine.dispose()
        return
    url = os.environ.get(POSTGRES)
    if not url:
        pytest.skip(f"no PostgreSQL: {POSTGRES} is not set")
    schema = f"test_{uuid.uuid4().hex[:12]}"
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    engine = connect(f"{url}?options=-csearch_path%3D{schema}")
    migrate(engine)
    yield engine
    engine.dispose()
    with admin.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    admin.dispose()
