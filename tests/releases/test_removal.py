"""What is removed is nowhere in the next release, and may not be used from an older one."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.layout import Layout
from pairs_to_words.releases.read import open_release
from pairs_to_words.releases.tombstones import photo_hash, read_tombstones
from pairs_to_words.releases.verify import verify_release

PHOTO = 1000 + 1  # a pivot of two pairs
URL = "demo:photo/1"


def remove(layout: Layout, *arguments: str) -> int:
    return main(["release", "remove", *arguments, "--yes", "--project", str(layout.root)])


def everything(path: Path) -> str:
    """Return all values and texts of a release as one text."""
    parts = []
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        parts.append(file.name)
        if file.suffix == ".parquet":
            table = pq.read_table(file)
            parts += [str(value) for column in table.columns for value in column.to_pylist()]
            parts.append(str(table.schema.metadata))
        else:
            parts.append(file.read_text(encoding="utf-8"))
    return "\n".join(parts)


def test_a_removed_photo_is_nowhere_in_the_next_release(built: Layout) -> None:
    traces = [rf"\b{PHOTO}\b", rf"{URL}\b", rf"\b{1:064x}\b", rf"\b{PHOTO}-\d+"]
    before = everything(built.release("1.0.0"))
    assert all(re.search(trace, before) for trace in traces)
    assert remove(built, "--photo", str(PHOTO)) == 0
    after = everything(built.release("1.1.0"))
    assert not [trace for trace in traces if re.search(trace, after)]
    assert verify_release(built.release("1.1.0")) == []
    stones = read_tombstones(built.release("1.1.0"))
    assert [stone.hash for stone in stones] == [photo_hash(PHOTO)]


def test_rows_that_stay_keep_their_split_and_their_values(built: Layout) -> None:
    remove(built, "--photo", str(PHOTO))
    before = {r["row_id"]: r for r in open_release(built.release("1.0.0")).all_rows().to_pylist()}
    after = {r["row_id"]: r for r in open_release(built.release("1.1.0")).all_rows().to_pylist()}
    assert 0 < len(after) < len(before)
    assert {i: before[i] for i in after} == after


def test_an_older_release_refuses_its_removed_rows(built: Layout) -> None:
    release = open_release(built.release("1.0.0"))
    split = next(s for s in release.splits if PHOTO in release.rows(s)["photo_1_id"].to_pylist())
    remove(built, "--photo", str(PHOTO))
    with pytest.raises(UserError, match=r"6 rows of split \w+ in release 1.0.0 were removed since"):
        release.rows(split)
    assert open_release(built.release("1.1.0")).rows(split).num_rows


def test_affected_versions_are_named_and_a_dry_run_changes_nothing(
    built: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["release", "remove", "--photo", str(PHOTO), "--project", str(built.root)]
    capsys.readouterr()
    assert main([*arguments, "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"affected": {"1.0.0": 6}, "version": None, "dry_run": True}
    assert [p.name for p in built.release("1.0.0").parent.iterdir()] == ["1.0.0"]
    assert main([*arguments, "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == "1.1.0"


def test_a_removed_writer_is_gone_from_texts_and_judgments(built: Layout) -> None:
    writers = set(open_release(built.release("1.0.0")).all_rows()["writer"].to_pylist())
    assert remove(built, "--worker", "AWRITERTWO00") == 0
    release = open_release(built.release("1.1.0"))
    (gone,) = writers - set(release.all_rows()["writer"].to_pylist())
    assert gone not in everything(release.path)


def test_a_removed_observer_takes_all_photos_along(built: Layout) -> None:
    assert "Observer 3" in everything(built.release("1.0.0"))
    assert remove(built, "--observer", "=Observer 3") == 0
    assert "Observer 3" not in everything(built.release("1.1.0"))


def test_removing_twice_says_that_nothing_is_left(
    built: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    remove(built, "--photo", str(PHOTO))
    capsys.readouterr()
    assert remove(built, "--photo", str(PHOTO)) == 0
    assert "holds none of it" in capsys.readouterr().out
    assert len(read_tombstones(built.release("1.0.0").parent)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Nothing to remove was named"),
        (["--photo", "7"], "Photo 7 is not in the catalogue"),
        (["--observer", "Nobody"], "Observer 'Nobody' is not in the catalogue"),
    ],
)
def test_what_is_not_there_cannot_be_removed(
    built: Layout, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert remove(built, *arguments) == 2
    assert message in capsys.readouterr().err
