"""Verdicts follow the protocol's pass rule and never flip by deciding again."""

from datetime import UTC, datetime

import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.protocol import PassRule, load_protocol
from pairs_to_words.project.records import Item, Judgment
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.events import read_events
from pairs_to_words.project.store.judgments import add_items, add_judgments, read_verdicts
from pairs_to_words.qc.filters import decide
from sqlalchemy import Engine

PROTOCOL = load_protocol("birds-to-words")


def noon() -> datetime:
    return datetime(2026, 12, 1, 12, tzinfo=UTC)


def answers(item: str, first: str, second: str) -> list[Judgment]:
    """Letters c and u: what each of the workers said about photo 1 and photo 2."""
    words = {"c": "clear", "u": "unclear"}
    return [
        Judgment("clarity", item, field, f"A{index}", words[letter], position=index)
        for field, letters in (("clear_1", first), ("clear_2", second))
        for index, letter in enumerate(letters)
    ]


def verdict_of(store: Engine, first: str, second: str) -> tuple[str, str]:
    with transaction(store) as connection:
        add_items(connection, [Item("i", "clarity", "u")])
        add_judgments(connection, answers("i", first, second))
    decide(store, PROTOCOL, "clarity", noon)
    with store.connect() as connection:
        verdict = read_verdicts(connection, "clarity")["i"]
    return verdict.verdict, verdict.reason


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("ccccc", "ccccu", "pass"),
        ("ccccu", "ucccc", "pass"),
        ("ccccc", "cccuu", "fail"),
        ("uuuuu", "ccccc", "fail"),
        ("", "", "open"),
        ("ccc", "ccc", "open"),
        ("cccc", "cccc", "pass"),
        ("uu", "cc", "fail"),
        ("cccccccuu", "ccccccccc", "fail"),
        ("ccccccccuu", "cccccccccc", "pass"),
    ],
)
def test_both_photos_need_four_of_five_clear(
    store: Engine, first: str, second: str, expected: str
) -> None:
    assert verdict_of(store, first, second)[0] == expected


def test_a_failure_names_the_photo_and_the_count(store: Engine) -> None:
    assert verdict_of(store, "ccccc", "cccuu") == ("fail", "clear_2: 3 of 5 said clear")


def test_a_workers_later_judgment_replaces_the_earlier(store: Engine) -> None:
    with transaction(store) as connection:
        add_items(connection, [Item("i", "clarity", "u")])
        add_judgments(connection, answers("i", "cccuu", "ccccc"))
        add_judgments(connection, [Judgment("clarity", "i", "clear_1", "A4", "clear", position=9)])
    assert decide(store, PROTOCOL, "clarity", noon)["pass"] == 1


def test_deciding_again_without_new_judgments_writes_nothing(store: Engine) -> None:
    with transaction(store) as connection:
        add_items(connection, [Item(f"i{n}", "clarity", "u") for n in range(3)])
        add_judgments(connection, answers("i1", "ccccc", "ccccc"))
    first = decide(store, PROTOCOL, "clarity", noon)
    assert first == {"items": 3, "pass": 1, "fail": 0, "open": 2}
    assert decide(store, PROTOCOL, "clarity", noon) == first
    with store.connect() as connection:
        assert len(read_events(connection)) == 1


def test_a_task_that_decides_nothing_is_refused(store: Engine) -> None:
    with pytest.raises(UserError, match="no pass_rule"):
        decide(store, PROTOCOL, "writing", noon)


def test_the_rule_reads_as_words() -> None:
    rule = PassRule(fields=["clear_1", "clear_2"], label="clear", at_least=4, of=5)
    assert rule.words() == "clear >= 4 of 5 on clear_1 and clear_2"
