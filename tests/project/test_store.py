"""The state database: what is stored once, in which order it is read, and its migrations."""

import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.records import Item, Judgment, Verdict
from pairs_to_words.project.store.engine import connect, migrate, transaction
from pairs_to_words.project.store.events import log_event, read_events
from pairs_to_words.project.store.judgments import (
    add_items,
    add_judgments,
    count_judgments,
    judged_tasks,
    put_verdicts,
    read_items,
    read_judgments,
    read_verdicts,
)
from pairs_to_words.project.store.tables import metadata
from sqlalchemy import Engine, text


def judgment(worker: str, value: str, position: int = 0, item: str = "p1") -> Judgment:
    return Judgment(
        task="clarity",
        item_id=item,
        field="clear_1",
        worker_id=worker,
        value=value,
        position=position,
        telemetry={"pastes": 1},
    )


def test_the_migrations_make_the_declared_tables(store: Engine) -> None:
    with store.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, metadata) == []


def test_migrating_again_changes_nothing(store: Engine) -> None:
    migrate(store)
    migrate(store)


def test_a_database_from_a_newer_version_is_refused(store: Engine) -> None:
    with transaction(store) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(CouldNotError, match="Upgrade pairs-to-words"):
        migrate(store)


def test_the_same_judgment_is_stored_once(store: Engine) -> None:
    rows = [judgment("A1", "clear"), judgment("A2", "unclear")]
    with transaction(store) as connection:
        assert add_judgments(connection, rows) == 2
        assert add_judgments(connection, [*rows, judgment("A3", "clear")]) == 1
        assert count_judgments(connection) == {"clarity": 3}
        assert judged_tasks(connection) == ["clarity"]


def test_judgments_are_read_in_order_of_arrival(store: Engine) -> None:
    rows = [judgment("A1", "unclear", position=1), judgment("A1", "clear", position=0)]
    with transaction(store) as connection:
        add_judgments(connection, rows)
        read = read_judgments(connection, "clarity")
    assert list(read["value"]) == ["clear", "unclear"]
    assert read["telemetry"].iloc[0] == {"pastes": 1}
    assert list(read["simulated"]) == [False, False]


def test_nothing_of_a_failed_transaction_is_kept(store: Engine) -> None:
    with pytest.raises(RuntimeError), transaction(store) as connection:
        add_judgments(connection, [judgment("A1", "clear")])
        raise RuntimeError
    with store.connect() as connection:
        assert count_judgments(connection) == {}


def test_items_and_verdicts_read_back(store: Engine) -> None:
    item = Item(task="clarity", item_id="p1", unit_id="p1", data={"photo_1": 5})
    first = Verdict(task="clarity", item_id="p1", verdict="open", rule="r")
    second = Verdict(task="clarity", item_id="p1", verdict="pass", rule="r")
    with transaction(store) as connection:
        assert add_items(connection, [item, item]) == 1
        put_verdicts(connection, [first], "2026-01-01T00:00:00.000Z")
        put_verdicts(connection, [second], "2026-01-02T00:00:00.000Z")
        assert read_items(connection, "clarity") == [item]
        assert read_verdicts(connection, "clarity") == {"p1": second}


def test_events_are_read_newest_first(store: Engine) -> None:
    with transaction(store) as connection:
        log_event(connection, "2026-01-01T00:00:00.000Z", "first", "a", pairs=2)
        log_event(connection, "2026-01-02T00:00:00.000Z", "second")
        kinds = [event["kind"] for event in read_events(connection)]
    assert kinds == ["second", "first"]


def test_many_writers_wait_for_each_other(store: Engine) -> None:
    failures: list[BaseException] = []

    def write(worker: int) -> None:
        try:
            for number in range(10):
                with transaction(store) as connection:
                    add_judgments(connection, [judgment(f"A{worker}", "clear", item=f"p{number}")])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with store.connect() as connection:
        assert count_judgments(connection) == {"clarity": 60}


def test_a_damaged_database_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"this is not a database" * 100)
    from pairs_to_words.project.config import Config
    from pairs_to_words.project.layout import Layout
    from pairs_to_words.project.store.engine import open_store

    with pytest.raises(CouldNotError, match="cannot be used"):
        open_store(Layout(tmp_path), Config())


def test_sqlite_keeps_every_commit_on_power_loss(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path / 's.db'}")
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == 2
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1
