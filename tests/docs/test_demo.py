"""The demo is the user's whole job: run as a newcomer runs it, then checked against the promises.

One run of `docs/demo.sh` at its full size (some minutes); every test below looks at what it left.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pairs_to_words.project.records import LEVELS
from pairs_to_words.project.store.engine import connect
from pairs_to_words.project.store.events import read_events

ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """This process' environment with `collect` on the path, as `make demo` has it."""
    binaries = Path(sys.executable).parent
    return os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}


def demo(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(ROOT / "docs" / "demo.sh"), str(directory)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("demo") / "project"
    done = demo(directory)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return directory, done.stdout


pytestmark = pytest.mark.timeout(1800)


def test_the_sample_is_the_papers_size_and_mix(finished: tuple[Path, str]) -> None:
    directory, _output = finished
    pairs = pq.read_table(directory / "samples/main/pairs.parquet").to_pandas()
    assert len(pairs) == 4860
    per_pivot = pairs.groupby(["pivot_index", "level_requested"]).size()
    assert set(per_pivot) == {2}
    assert pairs["level_requested"].nunique() == 6
    taxonomic = pairs[pairs["level_requested"] != "visual"]
    assert (taxonomic["level_requested"] == taxonomic["level_actual"]).all()


def test_the_audit_names_the_planted_annotators_and_nobody_else(
    finished: tuple[Path, str],
) -> None:
    directory, _output = finished
    command = ["collect", "audit", "--show-worker-ids", "--json", "--project", str(directory)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    audit = json.loads(done.stdout)
    actions = {row["worker_id"]: row["action"] for row in audit["annotators"]}
    engine = connect(f"sqlite:///{directory / 'state.db'}")
    with engine.connect() as connection:
        logged = [e for e in read_events(connection, 1000) if e["kind"] == "simulated"]
    skill_of = {
        worker: skill for event in logged for worker, skill in event["data"]["skills"].items()
    }
    assert set(actions) == set(skill_of)
    flagged = {worker for worker, action in actions.items() if action in {"review", "exclude"}}
    planted = {w for w, s in skill_of.items() if s in {"random", "copy-paste", "species-namer"}}
    good = {w for w, s in skill_of.items() if s == "good"}
    assert len(planted) == 4
    assert planted <= flagged
    assert not good & flagged


def test_the_model_beats_the_baselines_on_held_out_pivots(finished: tuple[Path, str]) -> None:
    directory, _output = finished
    (metrics_file,) = (directory / "models").glob("*/metrics.json")
    rows = json.loads(metrics_file.read_text())["splits"]["test"]
    scores = {row["model"]: row for row in rows}
    for baseline in ("most-frequent", "text-only"):
        for metric in ("bleu_4", "rouge_l"):
            assert scores["neural-naturalist"][metric] > scores[baseline][metric], baseline


def test_everything_simulated_is_marked_to_the_release(finished: tuple[Path, str]) -> None:
    directory, _output = finished
    release = directory / "releases" / "1.0.0"
    rows = pq.read_table(release / "data").to_pandas()
    assert rows["simulated"].all()
    assert "simulated" in (release / "README.md").read_text().lower()


def test_the_demo_ends_with_a_page_that_shows_it_all(finished: tuple[Path, str]) -> None:
    directory, output = finished
    page = (directory / "report" / "index.html").read_text()
    for heading in ("sample", "agreement", "annotators", "release", "model"):
        assert heading in page.lower()
    assert "report/index.html" in output


def test_a_second_run_does_nothing_twice(finished: tuple[Path, str]) -> None:
    directory, _output = finished
    pairs = (directory / "samples/main/pairs.parquet").stat().st_mtime_ns
    sums = (directory / "releases/1.0.0/SHA256SUMS").read_bytes()
    again = demo(directory)
    assert again.returncode == 0, again.stdout[-3000:] + again.stderr[-3000:]
    assert (directory / "samples/main/pairs.parquet").stat().st_mtime_ns == pairs
    assert (directory / "releases/1.0.0/SHA256SUMS").read_bytes() == sums


def test_embedding_distance_grows_with_taxonomic_distance(finished: tuple[Path, str]) -> None:
    directory, _output = finished
    medians = median_distances(directory)
    assert list(medians) == sorted(medians, key=lambda level: medians[level])
    # Far more than noise: birds of another class order are twice as far as those of one species.
    assert medians["class"] > 1.8 * medians["species"]


def median_distances(directory: Path, draws: int = 1500) -> dict[str, float]:
    """Median squared L2 distance of two clear photos, by the level that they share."""
    folder = directory / "embeddings" / "tf_efficientnet_lite0"
    ids = np.load(folder / "ids.npy")
    rows = np.concatenate([np.load(p) for p in sorted(folder.glob("shard-*.npy"))]).astype("f4")
    catalog = directory / "catalog"
    photos = pq.read_table(catalog / "photos.parquet").to_pandas()
    taxa = pq.read_table(catalog / "taxa.parquet").to_pandas()
    truth = pq.read_table(catalog / "truth.parquet", columns=["photo_id", "clear"]).to_pandas()
    table = photos.merge(taxa, on="species_id").merge(truth, on="photo_id")
    table = table.set_index("photo_id").loc[ids]
    clear = table["clear"].to_numpy()
    names = ("observation_id", "species_id", "genus_id", "family_id", "order_id", "class_id")
    shared = {name: table[name].to_numpy() for name in names}
    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = {level: [] for level in LEVELS}
    for one in rng.choice(np.flatnonzero(clear), draws, replace=False):
        for level, wide, narrow in zip(LEVELS, names[1:], names, strict=False):
            alike = shared[wide] == shared[wide][one]
            pool = np.flatnonzero(clear & alike & (shared[narrow] != shared[narrow][one]))
            if len(pool):
                other = rng.choice(pool)
                found[level].append(float(((rows[one] - rows[other]) ** 2).sum()))
    return {level: float(np.median(values)) for level, values in found.items()}
