"""croissant.json, schema.json, plots and exports say what the rows are, read by other libraries."""

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.files import read_json, write_json
from pairs_to_words.releases.checksums import MANIFEST, SUMS, hash_files, write_sums
from pairs_to_words.releases.croissant import check_croissant
from pairs_to_words.releases.read import Release
from pairs_to_words.releases.verify import verify_release

TRAIN = "data/train-00000-of-00001.parquet"


def forge(path: Path) -> None:
    """Write MANIFEST.json and SHA256SUMS anew, as somebody who hides a change would."""
    (path / SUMS).unlink()
    manifest = read_json(path / MANIFEST)
    write_json(path / MANIFEST, manifest | {"files": hash_files(path)})
    write_sums(path)


def test_mlcroissant_reads_the_rows_back_as_text(release: Release) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=str(release.path / "croissant.json"))
    for split in release.splits:
        texts = {
            value.decode() if isinstance(value, bytes) else value
            for record in dataset.records(record_set=split)
            for name, value in record.items()
            if name.endswith("text")
        }
        assert texts == set(release.rows(split)["text"].to_pylist())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["distribution"][0].update(sha256="0" * 64), "has another sha256"),
        (lambda d: d["distribution"][0].update(contentUrl="../x.parquet"), "leaves the folder"),
        (lambda d: d["distribution"][0].update(contentUrl="/etc/passwd"), "leaves the folder"),
        (lambda d: d["distribution"][0].update(contentUrl="https://x/y"), "leaves the folder"),
        (lambda d: d["distribution"][0].update(contentUrl="data/none.parquet"), "is not there"),
        (lambda d: d["distribution"][0].update(contentSize="1 B"), "is not of size 1 B"),
        (lambda d: d["distribution"].pop(0), "is not described"),
        (
            lambda d: d["recordSet"][0]["field"][0]["source"]["extract"].update(column="nothing"),
            "column nothing of .* is not there",
        ),
        (lambda d: d["recordSet"][0]["field"][0].update(dataType="sc:Integer"), "not sc:Integer"),
        (lambda d: d["recordSet"][0]["field"].pop(), "is not described"),
        (lambda d: d.pop("recordSet"), "cannot be read"),
    ],
)
def test_our_check_finds_what_is_wrong_in_croissant(
    release: Release, change: Any, message: str
) -> None:
    assert check_croissant(release.path) == []
    described = read_json(release.path / "croissant.json")
    change(described)
    write_json(release.path / "croissant.json", described)
    wrong = check_croissant(release.path)
    assert wrong
    assert pd.Series(wrong).str.contains(message).any(), wrong


def test_every_row_is_valid_by_the_json_schema_and_a_wrong_one_is_not(release: Release) -> None:
    validator = jsonschema.Draft202012Validator(read_json(release.path / "schema.json"))
    rows = release.all_rows().to_pylist()
    for row in rows:
        validator.validate(row)
    assert list(validator.iter_errors(rows[0] | {"photo_1_id": "x"}))
    assert list(validator.iter_errors(rows[0] | {"more": 1}))


def test_pandas_and_duckdb_read_the_same_rows(release: Release) -> None:
    rows = release.all_rows()
    frame = pd.read_parquet(release.path / "data").sort_values("row_id", ignore_index=True)
    assert frame["text"].tolist() == rows["text"].to_pylist()
    found = duckdb.sql(f"select split, count(*) from '{release.path}/data/*.parquet' group by all")
    assert dict(found.fetchall()) == release.statistics["texts_by_split"]


def test_plots_are_svg_with_the_measured_numbers(release: Release) -> None:
    text = (release.path / "plots" / "levels.svg").read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    for level, count in release.statistics["texts_by_level"].items():
        assert f">{level}</text>" in text
        assert f">{count:,}</text>" in text
    assert sum(release.statistics["words_histogram"].values()) == release.statistics["texts"]


def test_the_datasheet_names_measured_numbers_and_the_simulated_mark(release: Release) -> None:
    sheet = (release.path / "DATASHEET.md").read_text()
    assert "YES: 108 of 324 texts were written by programs" in sheet
    assert release.manifest["canary"] in sheet


def test_a_release_whose_lists_were_forged_is_found_out_by_its_rows(release: Release) -> None:
    whole = release.path.with_name("whole")
    shutil.copytree(release.path, whole)
    table = pq.read_table(whole / TRAIN)
    pq.write_table(table.slice(1), whole / TRAIN)
    forge(whole)
    wrong = "; ".join(verify_release(whole))
    assert "323 rows, 324 declared" in wrong
    assert "logical hash" in wrong
    assert "has another sha256" in wrong


def test_swapped_split_files_are_found_even_with_forged_lists(release: Release) -> None:
    val = TRAIN.replace("train", "val")
    first, second = (release.path / TRAIN).read_bytes(), (release.path / val).read_bytes()
    (release.path / TRAIN).write_bytes(second)
    (release.path / val).write_bytes(first)
    assert "was changed" in "; ".join(verify_release(release.path))
    forge(release.path)
    assert "data of split train holds rows of val" in "; ".join(verify_release(release.path))


def test_a_path_that_leaves_the_folder_is_refused(release: Release) -> None:
    sums = release.path / SUMS
    sums.write_text(sums.read_text() + f"{'0' * 64}  ../outside\n")
    assert "is not `<sha256>  <file>`" in "; ".join(verify_release(release.path))


def test_webdataset_reads_the_shards(release: Release, tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    to = tmp_path / "shards"
    arguments = ["release", "export", f"{release.path}/", "--format", "webdataset"]
    assert main([*arguments, "--to", str(to)]) == 0
    for split in release.splits:
        shards = sorted(map(str, to.glob(f"{split}-*.tar")))
        samples = list(webdataset.WebDataset(shards, shardshuffle=False).decode())
        rows = release.rows(split).to_pylist()
        assert [sample["txt"] for sample in samples] == [row["text"] for row in rows]
        assert [sample["json"] for sample in samples] == rows
    again = tmp_path / "again"
    assert main([*arguments, "--to", str(again)]) == 0
    assert all(p.read_bytes() == (again / p.name).read_bytes() for p in to.iterdir())


@pytest.mark.parametrize("name", ["hf", "croissant"])
def test_exports_for_other_tools_hold_the_rows(release: Release, tmp_path: Path, name: str) -> None:
    to = tmp_path / name
    arguments = ["release", "export", f"{release.path}/", "--format", name, "--to", str(to)]
    assert main(arguments) == 0
    assert pq.read_table(to / TRAIN).equals(release.rows("train"))
    assert check_croissant(to) == []
    assert main(arguments) == 2


def test_a_format_of_other_rows_is_refused(
    release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["release", "export", f"{release.path}/", "--to", str(tmp_path / "x"), "--format"]
    assert main([*arguments, "nlvr2-json"]) == 2
    assert "is for rows of kind nlvr2; this release has paragraphs" in capsys.readouterr().err
    assert main([*arguments, "csv"]) == 2
    assert "There are: b2w-tsv" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_the_manifest_is_json_with_glossary_keys(release: Release) -> None:
    manifest = json.loads((release.path / MANIFEST).read_text())
    assert {"name", "version", "rows", "splits", "logical_hash", "canary", "files"} <= set(manifest)
