"""A stage runs again when, and only when, something that decides its result has changed."""

from dataclasses import replace
from pathlib import Path

from pairs_to_words.project.files import write_text
from pairs_to_words.project.manifest import (
    Manifest,
    hash_inputs,
    is_current,
    read_manifest,
    write_manifest,
)

PLAN = Manifest(stage="sample", inputs={"photos": "ab"}, config={"k": 12}, seed=3)


def test_an_unchanged_plan_is_current_and_reads_back(tmp_path: Path) -> None:
    assert not is_current(tmp_path, PLAN)
    write_manifest(tmp_path, replace(PLAN, counts={"pairs": 4860}))
    assert is_current(tmp_path, PLAN)
    read = read_manifest(tmp_path)
    assert read is not None
    assert read.counts == {"pairs": 4860}


def test_a_changed_input_option_or_seed_is_not_current(tmp_path: Path) -> None:
    write_manifest(tmp_path, PLAN)
    assert not is_current(tmp_path, replace(PLAN, inputs={"photos": "cd"}))
    assert not is_current(tmp_path, replace(PLAN, config={"k": 10}))
    assert not is_current(tmp_path, replace(PLAN, seed=4))
    assert is_current(tmp_path, replace(PLAN, counts={"pairs": 1}, code_version="9"))


def test_a_lost_output_file_is_not_current(tmp_path: Path) -> None:
    output = tmp_path / "pairs.parquet"
    write_text(output, "rows")
    write_manifest(tmp_path, replace(PLAN, outputs=hash_inputs({"pairs.parquet": output})))
    assert is_current(tmp_path, PLAN)
    output.unlink()
    assert not is_current(tmp_path, PLAN)
