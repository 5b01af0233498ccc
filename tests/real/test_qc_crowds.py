"""Aggregation on published crowds, and SNLI's and NLVR2's own tables."""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairs_to_words.qc.aggregation import (
    dawid_skene,
    encode_votes,
    k_of_n,
    likeliest_label,
    majority,
)
from pairs_to_words.qc.agreement import (
    agreement,
    category_alpha,
    category_kappa,
    exactly_n,
)
from pairs_to_words.qc.coefficients import fleiss_kappa_pooled, krippendorff_alpha, prepare
from pairs_to_words.qc.consistency import accuracy_and_consistency, human_performance
from pairs_to_words.qc.counts import count_cells, counts_from_units
from pairs_to_words.qc.imports.bluebirds import read_bluebirds
from pairs_to_words.qc.imports.nlvr2 import read_nlvr2

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
if not DATA.exists():
    pytest.skip(f"no real data at {DATA}", allow_module_level=True)
NAMES = {"item": "item", "worker": "worker", "label": "label"}


def bluebirds() -> tuple[pd.DataFrame, dict[str, str]]:
    work = read_bluebirds(DATA / "crowds" / "bluebirds")
    rows = [(j.item_id, j.worker_id, j.value) for j in work.judgments]
    truth = {item.item_id: item.data["gold"]["label"] for item in work.items}
    return pd.DataFrame(rows, columns=list(NAMES)), truth


def barzan() -> tuple[pd.DataFrame, dict[str, str]]:
    folder = DATA / "crowds" / "gal" / "BarzanMozafari"
    names = ["worker", "item", "label"]
    frame = pd.read_csv(folder / "labels.pseudonymised.tsv", sep="\t", names=names, dtype=str)
    lines = (folder / "evaluation.txt").read_text().splitlines()
    return frame, dict(line.split() for line in lines)


@pytest.mark.parametrize(
    ("load", "alpha", "fleiss", "by_majority", "by_model", "likelihood"),
    [
        (bluebirds, 0.125501, 0.125293, 82, 97, -1888.116755),
        (barzan, 0.405937, 0.405818, 696, 712, -2094.7468),
    ],
)
def test_majority_and_dawid_skene_on_published_crowds(
    load: "object", alpha: float, fleiss: float, by_majority: int, by_model: int, likelihood: float
) -> None:
    assert callable(load)
    frame, truth = load()
    results = agreement(frame, item="item", worker="worker", label="label")
    assert results["krippendorff_alpha_nominal"].value == pytest.approx(alpha, abs=5e-7)
    assert results["fleiss_kappa_exactly_n"].value == pytest.approx(fleiss, abs=5e-7)
    votes = encode_votes(frame, **NAMES)
    counts = count_cells(votes.item, votes.label, len(votes.items), votes.labels)
    model = dawid_skene(votes, tolerance=1e-12)
    assert model.converged
    assert model.log_likelihood[-1] == pytest.approx(likelihood, abs=1e-4)
    for labels, right in (
        (majority(counts), by_majority),
        (likeliest_label(model, votes), by_model),
    ):
        assert sum(truth[str(i)] == x for i, x in zip(votes.items, labels, strict=True)) == right


def snli() -> list[dict[str, object]]:
    path = DATA / "snli" / "snli5" / "snli_1.0_dev_head.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_snli_agreement_and_gold_labels() -> None:
    rows = snli()
    units = [[label or None for label in row["annotator_labels"]] for row in rows]  # type: ignore[attr-defined]
    counts = counts_from_units(units)
    alpha = krippendorff_alpha(prepare(counts).total)
    assert alpha == pytest.approx(0.6601856990, abs=1e-9)
    n, five = exactly_n(counts, 5)
    assert (n, five.n_items) == (5, 1286)
    assert fleiss_kappa_pooled(prepare(five).total) == pytest.approx(0.6607448458, abs=1e-9)
    kappas = category_kappa(five)
    assert kappas["contradiction"] == pytest.approx(0.7675516664, abs=1e-9)
    assert kappas["entailment"] == pytest.approx(0.6647183628, abs=1e-9)
    assert kappas["neutral"] == pytest.approx(0.5519939531, abs=1e-9)
    assert set(category_alpha(counts)) == set(kappas)
    assert k_of_n(counts, 3) == [row["gold_label"] for row in rows]


@pytest.mark.parametrize(
    ("part", "groups", "all_true", "by_hash", "first_later"),
    [
        (
            "dev",
            2018,
            (0.5085935262, 0.0386521308),
            (0.4982812948, 0.1055500496),
            (0.9647665425, 0.8845391477),
        ),
        (
            "test1",
            1995,
            (0.5106932683, 0.0421052632),
            (0.5027989091, 0.1042606517),
            (0.9668436917, 0.8902255639),
        ),
    ],
)
def test_nlvr2_accuracy_and_consistency(
    part: str,
    groups: int,
    all_true: tuple[float, float],
    by_hash: tuple[float, float],
    first_later: tuple[float, float],
) -> None:
    work = read_nlvr2(DATA / "nlvr2" / f"{part}.json")
    truth = pd.Series({i.item_id: i.data["label"] for i in work.items})
    cluster = pd.Series({i.item_id: i.cluster for i in work.items})
    assert cluster.nunique() == groups
    first: dict[str, str] = {}
    for judgment in work.judgments:
        if judgment.phase == "later":
            first.setdefault(judgment.item_id, judgment.value)
    even = {i: str(sha256(i.encode()).digest()[-1] % 2 == 0) for i in truth.index}
    said = {"all": dict.fromkeys(truth.index, "True"), "hash": even, "later": first}
    for name, expected in (("all", all_true), ("hash", by_hash), ("later", first_later)):
        found = accuracy_and_consistency(pd.Series(said[name]), truth, cluster)
        assert found == pytest.approx(expected, abs=1e-9), name


@pytest.mark.parametrize(
    ("part", "kept", "workers", "mean", "std"),
    [("dev", 51, 97, 96.2775, 2.1339), ("test1", 52, 98, 96.3614, 2.8888)],
)
def test_nlvr2_human_performance(
    part: str, kept: int, workers: int, mean: float, std: float
) -> None:
    work = read_nlvr2(DATA / "nlvr2" / f"{part}.json")
    truth = {i.item_id: i.data["label"] for i in work.items}
    writers = {i.item_id: i.data["writer"] for i in work.items}
    later = pd.DataFrame(
        [(j.item_id, j.worker_id, j.value) for j in work.judgments if j.phase == "later"],
        columns=["item_id", "worker_id", "value"],
    )
    found = human_performance(later, truth, writers, least=100)
    assert (found.n_workers, found.n_judged) == (kept, workers)
    assert 100 * found.mean == pytest.approx(mean, abs=5e-5)
    assert 100 * found.std == pytest.approx(std, abs=5e-5)
    assert np.isfinite(found.mean)
