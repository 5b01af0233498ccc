"""Protocols are data: declared in TOML, never named in code."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.protocol import load_protocol, protocol_names

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["collect", "training", "releases", "qc", "annotation", "sampling", "project"]


@pytest.mark.parametrize("name", protocol_names())
def test_a_packaged_protocol_is_complete(name: str) -> None:
    protocol = load_protocol(name)
    assert protocol.name == name
    for task_name, task in protocol.tasks.items():
        assert (ROOT / "annotation" / "pages" / task.page).is_file(), task.page
        assert not task.after or task.after in protocol.tasks, task_name
        assert task.reward > 0
        rule = task.pass_rule
        if rule:
            assert rule.at_least <= rule.of == task.redundancy
            for field in rule.fields:
                assert rule.label in task.field(field).labels
    if protocol.release:
        assert protocol.release.text_field in {
            field.name for field in protocol.task(protocol.release.text_task).fields
        }
        assert sum(protocol.release.splits.values()) == pytest.approx(1)


def test_birds_to_words_keeps_a_pair_when_four_of_five_find_each_photo_clear() -> None:
    rule = load_protocol("birds-to-words").task("clarity").pass_rule
    assert rule is not None
    assert rule.words() == "clear >= 4 of 5 on clear_1 and clear_2"


def test_a_wrong_declaration_names_the_key(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\ntitle = "Mine"\nunit = "image_pear"\ntasks = {}\n')
    with pytest.raises(UserError, match=r"key `unit`.*image_pair"):
        load_protocol(str(file))


def test_an_unknown_task_is_answered_with_the_tasks_there_are() -> None:
    with pytest.raises(UserError, match="It has: clarity, writing, validation"):
        load_protocol("birds-to-words").task("clarify")


def test_rewards_are_exact_amounts() -> None:
    assert load_protocol("birds-to-words").task("writing").reward == Decimal("0.75")


def test_no_code_asks_for_a_protocol_by_name() -> None:
    # Comparing with a protocol's name is a fork in the pipeline: what differs is declared.
    names = "|".join(re.escape(name) for name in protocol_names())
    compared = re.compile(rf"""(?:==|!=|\bin\b)\s*[\[({{]?\s*["'](?:{names})["']""")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if compared.search(line)
    ]
    assert found == []
