"""Pseudonyms are stable inside a project and say nothing across projects."""

from pathlib import Path

from pairs_to_words.project.layout import Layout
from pairs_to_words.project.pseudonyms import pseudonym, pseudonym_key


def test_a_worker_keeps_one_name_in_a_project(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    first = pseudonym(pseudonym_key(layout), "A1B2")
    assert first == pseudonym(pseudonym_key(layout), "A1B2")
    assert first != pseudonym(pseudonym_key(layout), "A1B3")
    assert "A1B2" not in first
    assert (layout.secrets / "pseudonym.key").stat().st_mode & 0o077 == 0
    assert len(list(layout.secrets.iterdir())) == 1


def test_another_project_gives_another_name(tmp_path: Path) -> None:
    names = {pseudonym(pseudonym_key(Layout(tmp_path / name)), "A1B2") for name in ("one", "two")}
    assert len(names) == 2
