"""Verification finds every changed byte, missing file and added file."""

from pathlib import Path

import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.layout import Layout
from pairs_to_words.releases.read import open_release


@pytest.fixture
def built(filled: Layout) -> Path:
    assert main(["release", "build", "1.0.0", "--project", str(filled.root)]) == 0
    return filled.release("1.0.0")


def verify(path: Path) -> int:
    return main(["release", "verify", str(path)])


def test_a_release_as_built_is_as_published(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(built) == 0
    assert "as published" in capsys.readouterr().out


def test_one_flipped_bit_in_any_file_is_exit_code_3(built: Path) -> None:
    for file in sorted(p for p in built.rglob("*") if p.is_file()):
        whole = file.read_bytes()
        for place in (0, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert verify(built) == 3, (file, place)
        file.write_bytes(whole)
    assert verify(built) == 0


def test_a_missing_and_an_added_file_are_named(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (built / "README.md").unlink()
    (built / "extra.txt").write_text("x")
    assert verify(built) == 3
    error = capsys.readouterr().err
    assert "README.md is missing" in error
    assert "extra.txt was added" in error


def test_a_damaged_release_does_not_open(built: Path) -> None:
    (built / "statistics.json").write_text("{}")
    with pytest.raises(UserError, match=r"damaged: statistics.json was changed"):
        open_release(built)
    assert open_release(built, check=False).version == "1.0.0"


def test_a_split_that_is_not_there_names_those_that_are(built: Path) -> None:
    with pytest.raises(UserError, match="It has: train, val, test"):
        open_release(built).rows("dev")


def test_a_folder_that_is_no_release_says_how_to_build_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["release", "verify", str(tmp_path / "nothing")]) == 2
    assert "collect release build" in capsys.readouterr().err
