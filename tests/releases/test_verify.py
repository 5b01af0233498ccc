"""Verification finds every changed byte, missing file and added file."""

from pathlib import Path

import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.read import Release, open_release


@pytest.fixture
def folder(release: Release) -> Path:
    return release.path


def verify(path: Path) -> int:
    return main(["release", "verify", str(path)])


def test_a_release_as_built_is_as_published(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(folder) == 0
    assert "as published" in capsys.readouterr().out


def test_one_flipped_bit_in_any_file_is_exit_code_3(folder: Path) -> None:
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        whole = file.read_bytes()
        for place in (0, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert verify(folder) == 3, (file, place)
        file.write_bytes(whole)
    assert verify(folder) == 0


def test_a_missing_and_an_added_file_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "README.md").unlink()
    (folder / "extra.txt").write_text("x")
    assert verify(folder) == 3
    error = capsys.readouterr().err
    assert "README.md is missing" in error
    assert "extra.txt was added" in error


def test_a_damaged_release_does_not_open(folder: Path) -> None:
    (folder / "statistics.json").write_text("{}")
    with pytest.raises(UserError, match=r"damaged: statistics.json was changed"):
        open_release(folder)
    assert open_release(folder, check=False).version == "1.0.0"


def test_a_split_that_is_not_there_names_those_that_are(folder: Path) -> None:
    with pytest.raises(UserError, match="It has: train, val, test"):
        open_release(folder).rows("dev")


def test_a_folder_that_is_no_release_says_how_to_build_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", "verify", str(tmp_path / "nothing")]) == 2
    assert "collect release build" in capsys.readouterr().err
