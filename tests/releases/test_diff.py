"""A difference names every row that changed and the least version that this needs."""

import json

import pyarrow as pa
import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.layout import Layout
from pairs_to_words.releases.diff import difference


def rows(*values: tuple[str, str, str], **more: str) -> pa.Table:
    return pa.Table.from_pylist(
        [{"row_id": i, "split": split, "text": text} | more for i, split, text in values]
    )


BEFORE = rows(("a", "train", "one"), ("b", "test", "two"))


@pytest.mark.parametrize(
    ("after", "least"),
    [
        (BEFORE, (1, 2, 4)),
        (rows(("a", "train", "one")), (1, 3, 0)),
        (rows(("a", "train", "one"), ("b", "test", "two"), ("c", "val", "x")), (1, 3, 0)),
        (rows(("a", "train", "one"), ("b", "test", "2")), (1, 3, 0)),
        (rows(("a", "train", "one"), ("b", "train", "two")), (2, 0, 0)),
        (rows(("a", "train", "one"), ("b", "test", "two"), extra="x"), (1, 3, 0)),
        (BEFORE.rename_columns(["row_id", "split", "caption"]), (2, 0, 0)),
        (BEFORE.set_column(2, "text", pa.array([1, 2])), (2, 0, 0)),
    ],
)
def test_the_least_version_follows_the_change(after: pa.Table, least: tuple[int, ...]) -> None:
    assert difference(BEFORE, after).least((1, 2, 3)) == least


def test_rows_are_named() -> None:
    after = rows(("b", "train", "2"), ("c", "val", "x"))
    found = difference(BEFORE, after)
    assert (found.added, found.removed, found.changed, found.moved) == (
        ("c",),
        ("a",),
        ("b",),
        ("b",),
    )


def test_the_command_compares_two_versions(
    built: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    project = ["--project", str(built.root)]
    assert main(["release", "remove", "--photo", "1001", "--yes", *project]) == 0
    capsys.readouterr()
    assert main(["release", "diff", "1.0.0", "1.1.0", "--json", *project]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["removed"]) == 6
    assert (found["added"], found["moved"], found["least_version"]) == ([], [], "1.1.0")
    assert main(["release", "diff", "1.1.0", "1.0.0", *project]) == 0
    assert "needs at least 1.2.0" in capsys.readouterr().out
