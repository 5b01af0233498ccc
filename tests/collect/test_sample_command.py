"""`collect sample` as a user types it: on a small catalogue with photos and embeddings."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests
from pairs_to_words.collect.main import main
from pairs_to_words.project.clock import iso, system_clock
from pairs_to_words.project.config import load_config
from pairs_to_words.project.create import create_project
from pairs_to_words.project.files import read_json, write_bytes, write_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.records import PAIRS, PHOTO_INDEX, PHOTOS, TAXA
from pairs_to_words.project.store.engine import open_store, transaction
from pairs_to_words.project.store.tables import batches
from pairs_to_words.sampling.shards import embed_photos
from PIL import Image

SPECIES = 120


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """A project with 120 species, some 1,100 photos of plain colours, and random embeddings."""
    layout = create_project(
        tmp_path_factory.mktemp("sample") / "project", protocol="birds-to-words"
    )
    rng = np.random.default_rng(0)
    ranks = {"genus": 4, "family": 8, "order": 24, "class": SPECIES}
    taxa: dict[str, list[object]] = {
        "species_id": list(range(1, SPECIES + 1)),
        "species": [f"Avis {i}" for i in range(SPECIES)],
        "common_name": [f"Bird <{i}>" for i in range(SPECIES)],
    }
    for number, (rank, width) in enumerate(ranks.items(), start=1):
        taxa[f"{rank}_id"] = [number * 1000 + i // width for i in range(SPECIES)]
        taxa[rank] = [f"{rank} {i // width}" for i in range(SPECIES)]
    write_parquet(layout.catalog / "taxa.parquet", pa.table(taxa, schema=TAXA))
    rows: list[tuple[object, ...]] = []
    index: list[tuple[object, ...]] = []
    for species in range(1, SPECIES + 1):
        for _ in range(int(rng.integers(5, 14))):
            photo = len(rows) + 1
            observer = int(rng.integers(300))
            licence = "CC-BY-4.0" if photo % 50 else "CC-BY-ND-4.0"
            name = f"observer {observer}"
            rows.append(
                (photo, photo, None, observer, name, species, 0, "research", licence, "", "")
            )
            buffer = io.BytesIO()
            Image.new("RGB", (32, 32), tuple(rng.integers(0, 255, 3).tolist())).save(buffer, "JPEG")
            key = hashlib.sha256(buffer.getvalue()).hexdigest()
            write_bytes(layout.photo_file(key), buffer.getvalue())
            index.append((photo, key, int(rng.integers(2**63)), 32, 32, 600))
    for path, data, schema in [
        (layout.catalog / "photos.parquet", rows, PHOTOS),
        (layout.photos / "index.parquet", index, PHOTO_INDEX),
    ]:
        columns = dict(zip(schema.names, map(list, zip(*data, strict=True)), strict=True))
        write_parquet(path, pa.table(columns, schema=schema))
    embed_photos(
        pq.read_table(layout.catalog / "photos.parquet"),
        pq.read_table(layout.photos / "index.parquet"),
        layout.photos,
        layout.embeddings("tf_efficientnet_lite0"),
        {"encoder": "random"},
        lambda files, advance: np.random.default_rng(len(files)).normal(size=(len(files), 16)),
        dimensions=16,
        inputs={},
        shard_rows=500,
    )
    return layout


@pytest.fixture
def sampled(finished: Layout, tmp_path: Path) -> Layout:
    """A copy to work in."""
    shutil.copytree(finished.root, tmp_path / "copy")
    return Layout(tmp_path / "copy")


def test_the_command_as_typed_inside_the_project(
    sampled: Layout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(sampled.root / "catalog")
    assert main(["sample", "--pivots", "30", "--k", "12"]) == 0
    captured = capsys.readouterr()
    assert "360 pairs = 30 pivots x (visual=2,species=2,genus=2" in captured.out
    assert "licence is none of" in captured.out
    assert captured.err.strip().splitlines()[-1].startswith("next: ")
    folder = sampled.sample("main")
    pairs = pq.read_table(folder / "pairs.parquet")
    assert pairs.schema.equals(PAIRS)
    assert pairs.num_rows == 360
    licences = pq.read_table(sampled.catalog / "photos.parquet").to_pandas().set_index("photo_id")
    assert set(licences.loc[pairs["branch_photo_id"].to_numpy(), "license"]) == {"CC-BY-4.0"}
    funnel = read_json(folder / "funnel.json")
    assert all(set(step) == {"step", "kept", "removed", "why"} for step in funnel)
    with Image.open(folder / "contact-sheet.jpg") as sheet:
        assert sheet.format == "JPEG"
        assert sheet.width > 13 * 160
    # Again: said, and nothing written.
    before = (folder / "pairs.parquet").stat().st_mtime_ns
    assert main(["sample", "--pivots", "30", "--k", "12"]) == 0
    assert "nothing to do" in capsys.readouterr().err
    assert (folder / "pairs.parquet").stat().st_mtime_ns == before


def test_json_is_one_object_with_the_funnel(
    sampled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--pivots", "5", "--plan", "genus=1,order=2", "--seed", "3", "--name", "tiny"]
    assert main(["sample", *arguments, "--json", "--project", str(sampled.root)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == {"pairs": 15, "pivots": 5}
    assert told["seed"] == 3
    assert told["plan"] == "genus=1,order=2"
    assert {"step", "kept", "removed", "why"} == set(told["funnel"][0])


def test_k_that_is_not_the_sum_shows_the_sum(
    sampled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", "--pivots", "5", "--k", "11", "--project", str(sampled.root)]) == 2
    assert "makes 12" in capsys.readouterr().err
    assert not sampled.sample("main").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--k", "12"], 2, "How many pivots?"),
        (["--pivots", "0"], 2, "x>=1"),
        (["--pivots", "5", "--plan", "tribe=1"], 2, "no level 'tribe'"),
        (["--pivots", "5", "--name", "../x"], 2, "is not a sample name"),
        (["--pivots", "900", "--k", "12"], 1, "of 900 pivots can be given"),
        (["--pivots", "900", "--k", "12"], 1, "fewer --pivots"),
    ],
)
def test_mistakes_are_one_clear_line(
    sampled: Layout,
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sample", *arguments, "--project", str(sampled.root)]) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_without_a_catalogue_or_embeddings_the_next_command_is_named(
    project: Layout, sampled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", "--pivots", "5", "--project", str(project.root)]) == 2
    assert "collect catalog demo" in capsys.readouterr().err
    shutil.rmtree(sampled.root / "embeddings")
    assert main(["sample", "--pivots", "5", "--project", str(sampled.root)]) == 2
    assert "collect embed" in capsys.readouterr().err
    assert main(["embed", "--project", str(project.root)]) == 2
    assert "catalog" in capsys.readouterr().err


def test_a_sample_that_people_were_asked_about_is_never_replaced(
    sampled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--project", str(sampled.root)]
    assert main(["sample", "--pivots", "4", *where]) == 0
    assert main(["sample", "--pivots", "5", *where]) == 0  # nobody was asked yet
    engine = open_store(sampled, load_config(sampled.config))
    with transaction(engine) as connection:
        connection.execute(
            batches.insert().values(
                batch_id="b1",
                task="clarity",
                sample="main",
                crowd="local",
                endpoint="",
                template_hash="",
                settings={},
                state="published",
                created_at=iso(system_clock()),
            )
        )
    engine.dispose()
    capsys.readouterr()
    assert main(["sample", "--pivots", "5", *where]) == 0
    asked = pq.read_table(sampled.sample("main") / "pairs.parquet")
    for other in (
        ["--pivots", "4"],
        ["--pivots", "5", "--seed", "9"],
        ["--pivots", "5", "--faithful"],
    ):
        assert main(["sample", *other, *where]) == 2
        assert "--name NAME" in capsys.readouterr().err
    assert pq.read_table(sampled.sample("main") / "pairs.parquet").equals(asked)
    # More pivots leave the pairs that people saw as they are.
    assert main(["sample", "--pivots", "7", *where]) == 0
    assert main(["sample", "--extend", "2", *where]) == 0
    grown = pq.read_table(sampled.sample("main") / "pairs.parquet")
    assert grown.num_rows == 9 * 12
    assert grown.slice(0, 60).equals(asked)
    assert main(["sample", "--pivots", "9", "--name", "whole", *where]) == 0
    assert grown.equals(pq.read_table(sampled.sample("whole") / "pairs.parquet"))


def test_extending_with_other_options_or_without_a_sample_is_refused(
    sampled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--project", str(sampled.root)]
    assert main(["sample", "--extend", "2", *where]) == 2
    assert "no finished sample 'main'" in capsys.readouterr().err
    assert main(["sample", "--extend", "2", "--seed", "1", "--refill", "none", *where]) == 2
    assert "leave out --seed, --refill" in capsys.readouterr().err


def test_the_report_shows_levels_coverage_observers_and_examples(
    sampled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--project", str(sampled.root)]
    assert main(["sample", "--pivots", "20", *where]) == 0
    capsys.readouterr()
    assert main(["sample", "report", "--json", *where]) == 0
    told = json.loads(capsys.readouterr().out)
    assert next(row["level"] for row in told["levels"]) == "visual"
    assert sum(row["pairs"] for row in told["levels"]) == 240
    assert sum(row["pivots"] for row in told["orders"]) == 20
    assert sum(row["species"] for row in told["orders"]) == told["species"]["catalogue"] == 120
    assert told["observers"]["photos"] == 20 * 13
    page = (sampled.sample("main") / "report.html").read_text()
    assert "Bird &lt;" in page
    assert "Bird <" not in page
    assert page.count("data:image/jpeg;base64,") == 12 * 13


def test_a_report_about_no_sample_names_those_there_are(
    sampled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--project", str(sampled.root)]
    main(["sample", "--pivots", "3", "--name", "first", *where])
    assert main(["sample", "report", "--name", "frist", *where]) == 2
    assert "There are: first." in capsys.readouterr().err


def test_a_review_in_the_browser_becomes_a_reviewed_sample(
    sampled: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--project", str(sampled.root)]
    assert main(["sample", "--pivots", "4", "--reviewed", *where]) == 1
    assert "0 of 4 pivots are reviewed" in capsys.readouterr().err
    command = [sys.executable, "-m", "pairs_to_words.collect.main", "review", "--pivots", "4"]
    chosen: dict[int, int] = {}
    for decisions in (3, None):  # the first reviewer is interrupted, the second run goes on
        process = subprocess.Popen(
            [*command, *where],
            stdout=subprocess.PIPE,
            text=True,
            # A shell's background jobs ignore Ctrl-C, and their children would.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        shown = requests.get(url + "next", timeout=30).json()
        while shown["question"] and decisions != 0:
            species = shown["question"]["species_id"]
            choice = len(chosen) % 4 + 1
            chosen[species] = int(shown["question"]["photos"][choice - 1].split("/")[1])
            body = {"species_id": species, "choice": choice}
            shown = requests.post(url + "decide", json=body, timeout=30).json()
            decisions = None if decisions is None else decisions - 1
        if decisions == 0:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    capsys.readouterr()
    assert main(["review", "--pivots", "4", "--status", "--json", *where]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"accepted": 4, "rejected": 0, "wanted": 4, "done": True}
    assert main(["sample", "--pivots", "4", "--reviewed", *where]) == 0
    pairs = pq.read_table(sampled.sample("main") / "pairs.parquet").to_pylist()
    assert {row["pivot_species_id"]: row["pivot_photo_id"] for row in pairs} == chosen
    manifest = read_json(sampled.sample("main") / "manifest.json")
    assert manifest["notes"]["reviewed"] is True
