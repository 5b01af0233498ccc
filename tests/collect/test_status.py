"""`collect status` tells where a project stands and what to type next."""

import json

import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.config import load_config
from pairs_to_words.project.files import write_text
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.manifest import Manifest, write_manifest
from pairs_to_words.project.records import Judgment
from pairs_to_words.project.store.engine import open_store, transaction
from pairs_to_words.project.store.judgments import add_judgments


def next_of(project: Layout, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["status", "--project", str(project.root), "--json"]) == 0
    answer: str = json.loads(capsys.readouterr().out)["next"]
    return answer


def test_a_new_project_starts_with_a_catalogue(
    project: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert next_of(project, capsys) == "collect catalog demo --species 2000 --seed 0"


def test_each_finished_stage_moves_the_next_step_on(
    project: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Manifest(stage="x", inputs={}, config={}, counts={"photos": 12_000})
    write_manifest(project.catalog, made)
    assert next_of(project, capsys) == "collect embed"
    write_manifest(project.embeddings("tf_efficientnet_lite0"), made)
    assert next_of(project, capsys) == "collect sample --pivots 405 --k 12"
    write_manifest(project.sample("main"), made)
    assert next_of(project, capsys) == "collect launch clarity"


def test_an_unfinished_stage_is_said_so(
    project: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    write_text(project.catalog / "photos.parquet", "half")
    assert main(["status", "--project", str(project.root)]) == 0
    assert "begun, not finished" in capsys.readouterr().out


def test_imported_work_leads_to_the_audit(
    project: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = open_store(project, load_config(project.config))
    with transaction(engine) as connection:
        add_judgments(connection, [Judgment("validation", "i1", "label", "A1", "True")])
    engine.dispose()
    assert next_of(project, capsys) == "collect audit"
