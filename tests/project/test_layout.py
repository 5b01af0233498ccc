"""Paths of a project, and names that must not escape it."""

from pathlib import Path

import pytest
from pairs_to_words.project.create import create_project
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.layout import Layout, find_project, photo_file


def test_a_project_is_found_from_any_folder_inside_it(project: Layout) -> None:
    deep = project.root / "samples" / "main"
    deep.mkdir(parents=True)
    assert find_project(deep) == project


def test_outside_a_project_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="collect init DIR"):
        find_project(tmp_path)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden", "a\\b", "a b", "é"])
def test_a_name_cannot_leave_its_folder(project: Layout, name: str) -> None:
    for place in (project.sample, project.release, project.model, project.embeddings):
        with pytest.raises(UserError, match="is not a"):
            place(name)


def test_a_photo_file_is_addressed_by_a_real_hash_only(tmp_path: Path) -> None:
    assert photo_file(tmp_path, "ab" * 32) == tmp_path / "ab" / "ab" / ("ab" * 32)
    for wrong in ("../../etc/passwd", "AB" * 32, "ab"):
        with pytest.raises(UserError, match="SHA-256"):
            photo_file(tmp_path, wrong)


def test_a_project_is_made_once(project: Layout) -> None:
    with pytest.raises(UserError, match="is a project already"):
        create_project(project.root, protocol="birds-to-words")


def test_an_unknown_protocol_makes_no_project(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Packaged: birds-to-words"):
        create_project(tmp_path / "p", protocol="birdz")
    assert not (tmp_path / "p").exists()
