"""The published eleven columns in and out; a wrong cell is named by its line."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pairs_to_words.collect.main import main
from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.formats.birds_to_words import (
    COLUMNS,
    read_birds_to_words,
    write_birds_to_words,
)
from pairs_to_words.releases.imports import import_release
from pairs_to_words.releases.read import Release

HEADER = "\t".join(COLUMNS)


def line(pair: int, number: int, split: str, text: str, selection: str = "sameGenus") -> str:
    site = "https://www.inaturalist.org/photos/"
    one = [f"{site}{pair}1", f"{site}{pair}1.jpg", "Avis prima", "base"]
    two = [f"{site}{pair}2", f"{site}{pair}2.jpg", "Avis secunda", selection]
    return "\t".join([*one, *two, split, str(number), text])


LINES = [
    line(2, 1, "train", "Animal 1 is brown, Animal 2 is grey."),
    line(2, 2, "train", "Animal 2 is larger."),
    line(1, 1, "val", 'Animal 1 has a 5" bill.'),
    line(3, 1, "test", "Animal 1 is paler.", "visual"),
]


def write(folder: Path, lines: list[str], header: str = HEADER) -> Path:
    path = folder / "birds-to-words-v1.0.tsv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def test_import_export_import_is_the_identity(tmp_path: Path) -> None:
    source = write(tmp_path, LINES)
    release = tmp_path / "release"
    assert main(["release", "import", "b2w-tsv", str(source), "--to", str(release)]) == 0
    export = ["release", "export", f"{release}/", "--format", "b2w-tsv", "--to"]
    assert main([*export, str(tmp_path / "out")]) == 0
    (written,) = (tmp_path / "out").iterdir()
    first = import_release(read_birds_to_words([source]), [source], tmp_path / "a", "1.0.0")
    second = import_release(read_birds_to_words([written]), [written], tmp_path / "b", "1.0.0")
    assert first.manifest["logical_hash"] == second.manifest["logical_hash"]
    assert (first.statistics["pairs"], first.statistics["texts"]) == (3, 4)
    assert first.statistics["texts_by_level"] == {"visual": 1, "sameGenus": 3}


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=10
)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=30),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_any_text_survives_the_round_trip(tmp_path: Path, texts: list[str]) -> None:
    from tempfile import mkdtemp

    folder = Path(mkdtemp(dir=tmp_path))
    rows = read_birds_to_words([write(folder, LINES)])
    table = rows.rows.to_pylist()
    for row, text in zip(table, texts, strict=False):
        row["text"] = text
    changed = rows.rows.set_column(
        rows.rows.schema.get_field_index("text"),
        rows.rows.schema.field("text"),
        [[row["text"] for row in table]],
    )
    published = type(rows)(**(vars(rows) | {"rows": changed}))
    release = import_release(published, [], folder / "r", "1.0.0", allow_leaks=True)
    out = folder / "out"
    out.mkdir()
    again = read_birds_to_words(write_birds_to_words(release, out))
    assert again.rows.equals(changed)


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (LINES, HEADER.replace("annN", "n"), "line 1: other columns"),
        ([*LINES, "x\ty"], HEADER, "line 6: 2 cells"),
        ([line(1, 1, "dev", "x")], HEADER, "line 2: split 'dev'"),
        ([line(1, 1, "val", "x", "sameTribe")], HEADER, "line 2: selection 'sameTribe'"),
        ([line(1, 1, "val", "x").replace("\t1\t", "\t01\t")], HEADER, "line 2: annN is '01'"),
        ([LINES[0], LINES[0]], HEADER, "is there twice"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, lines: list[str], header: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_birds_to_words([write(tmp_path, lines, header)])


def test_a_photo_in_two_splits_is_refused_unless_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, [*LINES, line(2, 3, "test", "Another one.")])
    arguments = ["release", "import", "b2w-tsv", str(source), "--to", str(tmp_path / "r")]
    assert main(arguments) == 2
    assert "2 of kind photo (2 in test and train" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
    assert main([*arguments, "--allow-leaks"]) == 0
    assert main(["release", "verify", f"{tmp_path / 'r'}/"]) == 0


def test_our_own_releases_export_to_the_eleven_columns(release: Release, tmp_path: Path) -> None:
    arguments = ["release", "export", f"{release.path}/", "--format", "b2w-tsv", "--to"]
    assert main([*arguments, str(tmp_path / "out")]) == 0
    (written,) = (tmp_path / "out").iterdir()
    published = read_birds_to_words([written])
    assert sorted(published.rows["text"].to_pylist()) == sorted(
        release.all_rows()["text"].to_pylist()
    )
    assert set(published.rows["annotation_number"].to_pylist()) == {1, 2, 3}
