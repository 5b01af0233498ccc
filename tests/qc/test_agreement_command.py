"""`collect agreement` works on anybody's file and says what is wrong with it."""

import json
from pathlib import Path

import pandas as pd
import pytest
from pairs_to_words.collect.main import main

ROWS = [("i1", "a", "x"), ("i1", "b", "x"), ("i2", "a", "y"), ("i2", "b", "x"), ("i3", "a", "y"),
        ("i3", "b", "y")]  # fmt: skip
FRAME = pd.DataFrame(ROWS, columns=["item", "who", "vote"])


def write(path: Path, frame: pd.DataFrame) -> Path:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix in (".jsonl", ".json"):
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def run(path: Path, *more: str) -> int:
    columns = ["--item", "item", "--worker", "who", "--label", "vote"]
    return main(["agreement", str(path), *columns, *more])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl", "json"])
def test_every_kind_of_file_gives_the_same(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(write(tmp_path / f"votes.{suffix}", FRAME), "--json") == 0
    rows = {r["coefficient"]: r for r in json.loads(capsys.readouterr().out)["agreement"]}
    assert rows["krippendorff_alpha_nominal"]["value"] == pytest.approx(4 / 9, abs=1e-12)
    assert rows["krippendorff_alpha_nominal"]["convention"] == "per_worker"
    assert rows["krippendorff_alpha_nominal"]["warning"] == "only 3 items: fewer than 50"


def test_words_like_nan_and_na_are_labels_and_an_empty_cell_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "v.csv"
    path.write_text("item,who,vote\ni1,a,nan\ni1,b,NA\ni1,c,\ni2,a,NA\ni2,b,NA\n")
    assert run(path, "--json") == 0
    row = json.loads(capsys.readouterr().out)["agreement"][0]
    assert (row["n_judgments"], row["n_missing"], row["value"]) == (4, 1, 0.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("item,who,vote\ni1,a,x\ni1,a,y\ni1,b,x\n", "rows 2, 3: one worker gave one item"),
        ("item,who,vote\ni1,,x\n", "row 2: item or worker is empty"),
        ("item,person,vote\ni1,a,x\n", "no column 'who'. Columns: item, person, vote"),
        ("", "is empty"),
        ("item,who,vote,vote\n", "two columns are called 'vote'"),
        ("item,who,vote\ni1,a,x,extra,more\n", "Row #2: Expected 3 columns, got 5"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_the_row(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "v.csv"
    path.write_text(text)
    assert run(path) == 2
    error = capsys.readouterr().err
    assert str(path) in error
    assert expected in error
    assert len(error.strip().splitlines()) == 1


def test_mixed_types_in_json_lines_are_refused_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "v.jsonl"
    votes = ["1", 1, "2"]
    lines = [
        json.dumps({"item": "i", "who": w, "vote": v}) for w, v in zip("abc", votes, strict=True)
    ]
    path.write_text("\n".join(lines))
    assert run(path) == 2
    assert "row 2: labels in 'vote' are of mixed types" in capsys.readouterr().err


def test_levels_need_numbers_or_an_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "v.csv", FRAME)
    assert run(path, "--level", "interval") == 2
    assert "is not a number (found 'x')" in capsys.readouterr().err
    assert run(path, "--level", "ordinal", "--order", "x,y", "--json") == 0


def test_agreement_under_the_least_asked_for_is_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "v.csv", FRAME)
    assert run(path, "--min", "0.4") == 0
    assert run(path, "--min", "0.5") == 3
    assert "below the 0.5 asked for" in capsys.readouterr().err
