"""A release holds the usable texts and nothing else, and the same inputs give the same bytes."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.config import load_config
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.records import PARAGRAPHS, Judgment
from pairs_to_words.project.store.engine import open_store, transaction
from pairs_to_words.project.store.judgments import add_judgments
from pairs_to_words.project.store.reviews import Review, add_reviews
from pairs_to_words.releases.build import build_release
from pairs_to_words.releases.read import Release, open_release

WRITERS = ["AWRITERONE00", "AWRITERTWO00", "ASIMWRITER03"]


def build(layout: Layout, version: str = "1.0.0") -> Release:
    config = load_config(layout.config)
    engine = open_store(layout, config)
    try:
        protocol = load_protocol("birds-to-words")
        return build_release(engine, layout, config, protocol, version).release
    finally:
        engine.dispose()


def rows_of(release: Release) -> list[dict[str, Any]]:
    return [row for split in release.splits for row in release.rows(split).to_pylist()]


def change(layout: Layout, judgments: list[Judgment], reviews: list[Review]) -> None:
    engine = open_store(layout, load_config(layout.config))
    with transaction(engine) as connection:
        add_judgments(connection, judgments)
        add_reviews(connection, reviews)
    engine.dispose()


def every_file(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*") if p.is_file()}


def test_only_texts_about_pairs_that_passed_are_released(filled: Layout) -> None:
    release = build(filled)
    rows = rows_of(release)
    assert len(rows) == 3 * 108
    assert release.statistics["funnel"] == {
        "pairs sampled": 120,
        "pairs that pass clarity": 108,
        "texts written": 324,
        "texts not rejected": 324,
        "texts by annotators not excluded": 324,
        "texts not rejected in a review": 324,
        "texts about pairs that pass": 324,
        "texts not repeated in another split": 324,
        "texts released": 324,
        "pairs released": 108,
    }
    assert {row["simulated"] for row in rows} == {True, False}
    assert release.manifest["simulated"] is True
    assert release.rows("train").schema.equals(PARAGRAPHS)


def test_no_pivot_species_photo_or_observation_is_in_two_splits(filled: Layout) -> None:
    seen: dict[tuple[str, Any], set[str]] = {}
    for row in rows_of(build(filled)):
        seen.setdefault(("species", row["photo_1_species_id"]), set()).add(row["split"])
        for side in (1, 2):
            seen.setdefault(("photo", row[f"photo_{side}_sha256"]), set()).add(row["split"])
    assert {len(splits) for splits in seen.values()} == {1}


def test_excluded_writers_and_their_texts_are_left_out(filled: Layout) -> None:
    change(filled, [], [Review("annotator", WRITERS[0], "audit", "exclude", "copies", "2026")])
    rows = rows_of(build(filled))
    assert len(rows) == 2 * 108
    assert len({row["writer"] for row in rows}) == 2


def test_a_writers_last_text_about_a_pair_counts(filled: Layout) -> None:
    better = Judgment("writing", "w-1000-1061", "paragraph", WRITERS[0], "Animal 1 is better.", 9)
    change(filled, [better], [])
    texts = [r["text"] for r in rows_of(build(filled)) if r["pair_id"] == "1000-1061"]
    assert len(texts) == 3
    assert "Animal 1 is better." in texts


def test_no_worker_id_is_anywhere_in_a_release(filled: Layout) -> None:
    release = build(filled)
    for name, content in every_file(release.path).items():
        for worker in [*WRITERS, "AJUDGENUMBER0"]:
            assert worker.encode() not in content, name


def test_a_text_that_quotes_a_worker_id_stops_the_build(filled: Layout) -> None:
    text = f"Animal 1 and Animal 2, by {WRITERS[1]}"
    change(filled, [Judgment("writing", "w-1000-1061", "paragraph", WRITERS[0], text, 9)], [])
    with pytest.raises(UserError, match="column text contains a worker id"):
        build(filled)


def test_photos_without_a_licence_that_may_be_released_stop_the_build(filled: Layout) -> None:
    text = filled.config.read_text().replace('"CC0-1.0", ', "")
    filled.config.write_text(text)
    with pytest.raises(UserError, match=r"\d+ photos have a licence .*\(CC0-1.0\): 10"):
        build(filled)


def test_the_card_shouts_that_texts_are_simulated(filled: Layout) -> None:
    card = (build(filled).path / "README.md").read_text()
    assert "SIMULATED: 108 of 324 texts" in card
    assert "path: data/train-*.parquet" in card


def test_attributions_keep_every_photo_with_odd_characters(filled: Layout) -> None:
    release = build(filled)
    with (release.path / "attributions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == release.statistics["photos"]
    assert any(row["attribution"].endswith('"1"') for row in rows)


def test_building_again_says_so_and_does_nothing(
    filled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["release", "build", "1.0.0", "--project", str(filled.root)]
    assert main(arguments) == 0
    before = every_file(filled.release("1.0.0"))
    capsys.readouterr()
    assert main(arguments) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert every_file(filled.release("1.0.0")) == before


def test_other_content_needs_a_higher_version(
    filled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    build(filled)
    change(filled, [], [Review("annotator", WRITERS[0], "audit", "exclude", "copies", "2026")])
    assert main(["release", "build", "1.0.0", "--project", str(filled.root)]) == 2
    assert "Build 1.1.0" in capsys.readouterr().err
    assert main(["release", "build", "1.0.1", "--project", str(filled.root)]) == 2
    assert "Build 1.1.0" in capsys.readouterr().err
    second = build(filled, "1.1.0")
    assert (
        "0 texts added, 108 removed, 0 changed, 0 moved"
        in (second.path / "CHANGELOG.md").read_text()
    )


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "1.0.0-rc1", "../1.0.0", "01.0.0"])
def test_a_version_is_three_numbers(filled: Layout, version: str) -> None:
    with pytest.raises(UserError, match="is not a version"):
        build(filled, version)


def test_another_process_with_another_hash_seed_zone_and_locale_gives_the_same_bytes(
    filled: Layout, tmp_path: Path
) -> None:
    first = every_file(build(filled).path)
    copy = tmp_path / "copy"
    shutil.copytree(filled.root, copy)
    shutil.rmtree(copy / "releases")
    environment = os.environ | {
        "PYTHONHASHSEED": "12345",
        "TZ": "Asia/Tokyo",
        "LC_ALL": "C",
        "OMP_NUM_THREADS": "1",
    }
    subprocess.run(
        [sys.executable, "-m", "pairs_to_words.collect.main", "release", "build", "1.0.0"],
        cwd=copy,
        env=environment,
        check=True,
        capture_output=True,
    )
    assert every_file(copy / "releases" / "1.0.0") == first


def test_a_kill_at_any_moment_leaves_a_whole_release_or_none(filled: Layout) -> None:
    command = [sys.executable, "-m", "pairs_to_words.collect.main", "release", "build", "1.0.0"]
    target = filled.release("1.0.0")
    killed = 0
    for delay in (1.0, 1.6, 1.9, 2.2, 2.5):
        process = subprocess.Popen(
            command, cwd=filled.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(delay)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
        if target.exists():
            open_release(target)
    assert killed
    assert build(filled).statistics["texts"] == 324
    assert [p.name for p in target.parent.iterdir()] == ["1.0.0"]


def test_the_release_loads_with_datasets_offline(
    filled: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    release = build(filled)
    loaded = datasets.load_dataset(str(release.path), cache_dir=str(tmp_path / "cache"))
    assert {name: len(rows) for name, rows in loaded.items()} == dict(
        release.statistics["texts_by_split"]
    )
    assert set(loaded["train"].column_names) == set(PARAGRAPHS.names)


def test_without_texts_the_message_names_the_step_that_left_none(filled: Layout) -> None:
    reviews = [Review("annotator", w, "audit", "exclude", "", "2026") for w in WRITERS]
    change(filled, [], reviews)
    with pytest.raises(UserError, match="0 texts by annotators not excluded"):
        build(filled)


def test_statistics_are_flat_numbers_and_mappings(filled: Layout) -> None:
    statistics = build(filled).statistics
    assert statistics["words_per_text"] == 17
    assert statistics["sentences_per_text"] == 2
    assert statistics["simulated_texts"] == 108
    assert sum(statistics["texts_by_split"].values()) == 324
    for value in statistics.values():
        assert isinstance(value, int | float | str | dict)
    json.dumps(statistics, allow_nan=False)


def test_every_photo_of_every_row_has_a_licence_an_author_and_its_hash(filled: Layout) -> None:
    release = build(filled)
    with (release.path / "attributions.csv").open(newline="") as file:
        listed = {row["photo_id"]: row for row in csv.DictReader(file)}
    allowed = load_config(filled.config).release.licenses
    shown = set()
    for row in rows_of(release):
        for side in (1, 2):
            photo = listed[str(row[f"photo_{side}_id"])]
            shown.add(photo["photo_id"])
            for column in ("sha256", "license", "attribution", "url"):
                assert photo[column] == row[f"photo_{side}_{column}"] != ""
            assert photo["license"] in allowed
    assert shown == set(listed)
