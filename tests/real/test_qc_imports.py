"""Finished crowd work of other people, imported from the command line."""

import json
import statistics
from pathlib import Path

import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.layout import Layout
from pairs_to_words.qc.imports.mturk_batch import read_mturk_batch

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "crowds"
if not DATA.exists():
    pytest.skip(f"no real data at {DATA}", allow_module_level=True)
UKP = DATA / "ukp_arct_mturk"


def audit(project: Layout, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    capsys.readouterr()
    assert main(["audit", "--json", "--project", str(project.root)]) == 0
    rows = json.loads(capsys.readouterr().out)["agreement"]
    return {row["coefficient"]: row["value"] for row in rows if row["convention"] == "per_worker"}


@pytest.mark.parametrize(
    ("name", "pattern", "status", "alpha"),
    [
        ("stance_pilot", "{item}_stance_group", [], 0.3781987534),
        ("upper_bound", "{item}_warrant_group", [], 0.1784556618),
        ("upper_bound", "{item}_warrant_group", ["--status", "Approved"], 0.1830405920),
    ],
)
def test_mturk_batches_give_the_published_agreement(
    name: str,
    pattern: str,
    status: list[str],
    alpha: float,
    project: Layout,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = UKP / f"{name}.batch.csv"
    arguments = ["import", "mturk-batch", str(file), "--task", "stance", "--answers", pattern]
    for _again in range(2):
        assert main([*arguments, *status, "--project", str(project.root)]) == 0
    assert audit(project, capsys)["krippendorff_alpha_nominal"] == pytest.approx(alpha, abs=1e-9)


def test_a_batch_keeps_hits_assignments_workers_and_work_times() -> None:
    work = read_mturk_batch(UKP / "stance_pilot.batch.csv", "stance", ["{item}_stance_group"])
    assert len(work.judgments) == 1800
    assert len({j.assignment_id for j in work.judgments}) == 360
    assert len({j.worker_id for j in work.judgments}) == 84
    seconds: dict[str, float] = {}
    for judgment in work.judgments:
        assert judgment.work_seconds is not None
        seconds[judgment.assignment_id] = (
            seconds.get(judgment.assignment_id, 0) + judgment.work_seconds
        )
    times = [round(value) for value in seconds.values()]
    assert (statistics.median(times), min(times), max(times)) == (220, 23, 598)
    assert work.judgments[0].submitted_at == "2017-02-13T13:31:19.000Z"


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_platform_tables_without_work_times(number: int) -> None:
    file = DATA / "crowdtruth_amt" / f"platform_amt{number}.csv"
    work = read_mturk_batch(file, "t")
    assert work.judgments
    assert {j.field for j in work.judgments} == {"output"}
    assert all(j.submitted_at.endswith("Z") for j in work.judgments)
    assert all(j.work_seconds is not None and j.work_seconds > 0 for j in work.judgments)
