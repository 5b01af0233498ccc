"""Agreement of real people's judgments, imported and audited from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.create import create_project
from pairs_to_words.qc.agreement import agreement_of, exactly_n
from pairs_to_words.qc.coefficients import fleiss_kappa_pooled, prepare
from pairs_to_words.qc.counts import tabulate
from pairs_to_words.qc.imports.nlvr2 import read_nlvr2

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
if not DATA.exists():
    pytest.skip(f"no real data at {DATA}", allow_module_level=True)

ALPHA, KAPPA = "krippendorff_alpha_nominal", "fleiss_kappa_exactly_n"
# task, convention, coefficient, value, items, judgments (expected-numbers: agreement)
EXPECTED = [
    ("validation", "per_event", ALPHA, 0.8932788075, 6982, 34797),
    ("validation", "per_event", KAPPA, 0.8930489050, 6870, 5 * 6870),
    ("validation", "per_worker", ALPHA, 0.8888196786, 6982, 33401),
    ("validation", "per_worker", KAPPA, 0.8902015291, 5496, 5 * 5496),
    ("nlvr1-validation", "per_event", ALPHA, 0.7994602765, 989, 4945),
    ("nlvr1-validation", "per_event", KAPPA, 0.7994197142, 989, 4945),
    ("nlvr1-validation", "per_worker", ALPHA, 0.7994602765, 989, 4945),
    ("bluebirds", "per_worker", ALPHA, 0.125501, 108, 4212),
    ("bluebirds", "per_worker", KAPPA, 0.125293, 108, 4212),
]


@pytest.fixture(scope="module", params=["birds-to-words", "nlvr2"])
def audited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project, of either protocol, with all three files imported and audited."""
    root = tmp_path_factory.mktemp("audit") / "project"
    create_project(root, protocol=request.param)
    for kind, file in (
        ("nlvr2", DATA / "nlvr2" / "dev.json"),
        ("nlvr1", DATA / "nlvr1" / "dev.json"),
        ("bluebirds", DATA / "crowds" / "bluebirds"),
    ):
        assert main(["import", kind, str(file), "--project", str(root)]) == 0
    assert main(["audit", "--project", str(root), "--json"]) == 0
    return root


@pytest.mark.parametrize(("task", "convention", "name", "value", "items", "judgments"), EXPECTED)
def test_the_audit_gives_the_published_numbers(
    audited: Path,
    task: str,
    convention: str,
    name: str,
    value: float,
    items: int,
    judgments: int,
) -> None:
    report = json.loads((audited / "reports" / "audit.json").read_text())
    (row,) = [
        row
        for row in report["agreement"]
        if (row["task"], row["convention"], row["coefficient"]) == (task, convention, name)
    ]
    digits = 1e-6 if task == "bluebirds" else 1e-9
    assert row["value"] == pytest.approx(value, abs=digits)
    assert (row["n_items"], row["n_judgments"]) == (items, judgments)
    assert row["interval"][0] < row["value"] < row["interval"][1]


def test_importing_again_adds_nothing(audited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = DATA / "nlvr1" / "dev.json"
    assert main(["import", "nlvr1", str(file), "--project", str(audited), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["new_items"] == counts["new_judgments"] == 0
    assert counts["judgments"] == 4945


def test_the_page_loads_nothing_from_anywhere(audited: Path) -> None:
    page = (audited / "reports" / "audit.html").read_text()
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


@pytest.mark.parametrize(
    ("files", "convention", "phases", "alpha", "kappa", "n", "items"),
    [
        (["dev"], "per_worker", ("later",), 0.8666289479, 0.8664509141, 4, 6870),
        (["test1"], "per_event", None, 0.8953104451, 0.8953944941, 5, 6841),
        (["test1"], "per_worker", None, 0.8909826296, 0.8942191133, 5, 5486),
        (["dev", "test1"], "per_event", None, 0.8942918187, 0.8942192618, 5, 13711),
    ],
)
def test_nlvr2_parts_and_conventions(
    files: list[str],
    convention: Any,
    phases: tuple[str, ...] | None,
    alpha: float,
    kappa: float,
    n: int,
    items: int,
) -> None:
    import pandas as pd

    rows = [
        (j.item_id, j.worker_id, j.value)
        for name in files
        for j in read_nlvr2(DATA / "nlvr2" / f"{name}.json").judgments
        if phases is None or j.phase in phases
    ]
    frame = pd.DataFrame(rows, columns=["item", "worker", "label"])
    done = tabulate(frame, item="item", worker="worker", label="label", convention=convention)
    assert agreement_of(done)[ALPHA].value == pytest.approx(alpha, abs=1e-9)
    usual, table = exactly_n(done.counts)
    assert (usual, table.n_items) == (n, items)
    assert fleiss_kappa_pooled(prepare(table).total) == pytest.approx(kappa, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "status", "alpha", "kappa", "workers", "items", "judgments"),
    [
        ("stance_pilot", None, 0.3781987534, 0.3778531163, 84, 100, 1800),
        ("warrant_validation", None, 0.1714293729, 0.1713164887, 33, 2447, 7341),
        ("upper_bound", None, 0.1784556618, None, None, None, 1850),
        ("upper_bound", "Approved", 0.1830405920, None, None, None, 1800),
    ],
)
def test_anybodys_file_without_a_project(
    name: str,
    status: str | None,
    alpha: float,
    kappa: float | None,
    workers: int | None,
    items: int | None,
    judgments: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = DATA / "crowds" / "ukp_arct_mturk" / f"{name}.long.csv"
    if status:
        import pandas as pd

        frame = pd.read_csv(file, dtype=str)
        file = tmp_path / "approved.csv"
        frame[frame["assignmentstatus"] == status].to_csv(file, index=False)
    arguments = ["agreement", str(file), "--item", "item", "--worker", "worker"]
    assert main([*arguments, "--label", "label", "--json"]) == 0
    rows = {r["coefficient"]: r for r in json.loads(capsys.readouterr().out)["agreement"]}
    assert rows[ALPHA]["value"] == pytest.approx(alpha, abs=1e-9)
    assert rows[ALPHA]["n_judgments"] == judgments
    if kappa is not None:
        assert rows["fleiss_kappa_classic"]["value"] == pytest.approx(kappa, abs=1e-9)
        assert rows[ALPHA]["n_workers"] == workers
        assert rows[ALPHA]["n_items"] == items
