"""Reports are safe to open, whatever workers typed, and the same every time."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.config import load_config
from pairs_to_words.project.create import create_project
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.records import Item, Judgment
from pairs_to_words.project.store.engine import open_store, transaction
from pairs_to_words.project.store.judgments import add_items, add_judgments
from pairs_to_words.project.store.reviews import Review, add_reviews, excluded_annotators
from pairs_to_words.qc.audit import audit, record_decisions
from pairs_to_words.qc.report import audit_csv, audit_page, hide_worker_ids, write_report

EVIL = "=HYPERLINK(1)<script>alert(1)</script>"


def fill(layout: Layout) -> None:
    """Twelve pairs by five workers; one of them, with a hostile id, answers at odds."""
    workers = ["A1", "A2", "A3", "A4", EVIL]
    rows = []
    for n in range(24):
        for position, worker in enumerate(workers):
            right = "clear" if n % 2 else "unclear"
            wrong = "unclear" if n % 2 else "clear"
            said = wrong if worker == EVIL else right
            for field in ("clear_1", "clear_2"):
                rows.append(Judgment("clarity", f"i{n}", field, worker, said, position=position))
    rows.append(Judgment("clarity", "i0", "<b>", "A1", "{{ 7 * 7 }}" + "x" * 1_000_000))
    engine = open_store(layout, load_config(layout.config))
    with transaction(engine) as connection:
        add_items(connection, [Item(f"i{n}", "clarity", f"u{n}") for n in range(24)])
        add_judgments(connection, rows)
    engine.dispose()


def run_audit(layout: Layout) -> dict:  # type: ignore[type-arg]
    config = load_config(layout.config)
    engine = open_store(layout, config)
    return audit(engine, load_protocol("birds-to-words"), config, layout)


def test_hostile_names_and_texts_stay_text(project: Layout) -> None:
    fill(project)
    report = run_audit(project)
    page = audit_page(report, project="<i>p</i>", show_worker_ids=True)
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert "<i>p</i>" not in page
    assert "49" + "x" * 10 not in page
    assert len(page) < 1_000_000
    cells = [
        c for row in csv.reader(io.StringIO(audit_csv(report, show_worker_ids=True))) for c in row
    ]
    assert not [c for c in cells if c.startswith(("=", "+", "@", "\t"))]
    assert "'" + EVIL in cells


def test_worker_ids_are_shown_only_on_request(project: Layout, tmp_path: Path) -> None:
    fill(project)
    report = run_audit(project)
    for path in write_report(tmp_path / "hidden", report, project="p"):
        assert "alert" not in path.read_text(), path
    write_report(tmp_path / "shown", report, project="p", show_worker_ids=True)
    assert "alert" in (tmp_path / "shown" / "audit.json").read_text()


def test_the_same_audit_gives_the_same_bytes(project: Layout, tmp_path: Path) -> None:
    fill(project)
    first = write_report(tmp_path / "a", run_audit(project), project="p")
    second = write_report(tmp_path / "b", run_audit(project), project="p")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_an_excluded_annotator_is_stored_and_a_person_can_overrule(project: Layout) -> None:
    fill(project)
    engine = open_store(project, load_config(project.config))

    def noon() -> datetime:
        return datetime(2026, 12, 1, 12, tzinfo=UTC)

    assert record_decisions(engine, run_audit(project), noon) == 5
    assert record_decisions(engine, run_audit(project), noon) == 0
    with transaction(engine) as connection:
        assert list(excluded_annotators(connection)) == [EVIL]
        add_reviews(connection, [Review("annotator", EVIL, "maria", "keep", "talked", "2026")])
    report = run_audit(project)
    (row,) = [r for r in report["annotators"] if r["worker_id"] == EVIL]
    assert (row["action"], row["recommended"], row["decided_by"]) == ("keep", "exclude", "maria")
    with transaction(engine) as connection:
        assert excluded_annotators(connection) == {}


def test_the_filter_shows_agreement_before_and_after_and_the_share_removed(
    project: Layout,
) -> None:
    fill(project)
    (row,) = run_audit(project)["filters"]
    assert (row["passed"], row["failed"], row["open"]) == (12, 12, 0)
    assert row["share_removed"] == 0.5
    assert row["agreement"][0]["before"] == pytest.approx(0.21, abs=0.05)
    assert row["agreement"][0]["after"] < 0.1


def test_audit_json_is_one_object(project: Layout, capsys: pytest.CaptureFixture[str]) -> None:
    fill(project)
    assert main(["audit", "--json", "--project", str(project.root)]) == 0
    report = json.loads(capsys.readouterr().out)
    keys = {"task", "coefficient", "convention", "value", "reason", "n_items", "n_judgments"}
    assert all(keys <= set(row) for row in report["agreement"])
    assert {row["convention"] for row in report["agreement"]} == {"per_worker", "per_event"}
    assert hide_worker_ids(report)["annotators"] == report["annotators"]


def test_an_audit_without_judgments_says_what_to_do(
    project: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--project", str(project.root)]) == 2
    assert "collect import" in capsys.readouterr().err


def test_agreement_without_the_excluded_is_shown_with_the_share_removed(project: Layout) -> None:
    fill(project)
    report = run_audit(project)
    for row in report["exclusions"]:
        assert row["annotators"] == 1
        assert row["share_removed"] == pytest.approx(0.2)
        assert row["after"] == 1.0 > row["before"]
    assert {row["field"] for row in report["exclusions"]} == {"clear_1", "clear_2"}


def test_ordinal_labels_are_ranked_as_the_protocol_lists_them(tmp_path: Path) -> None:
    protocol = tmp_path / "own.toml"
    protocol.write_text(
        'name = "own"\ntitle = "Own"\nunit = "image_pair"\n[tasks.rate]\npage = "x.html"\n'
        'title = "Rate"\ndescription = "Rate."\nreward = "0.10"\nestimated_seconds = 10\n'
        'fields = [{ name = "size", kind = "label", level = "ordinal", '
        'labels = ["poor", "fair", "good"] }]\n'
    )
    layout = create_project(tmp_path / "p", protocol=str(protocol))
    rows = [("i1", "poor", "fair"), ("i2", "good", "good"), ("i3", "fair", "fair"),
            ("i4", "poor", "poor"), ("i5", "good", "fair")]  # fmt: skip
    config = load_config(layout.config)
    engine = open_store(layout, config)
    with transaction(engine) as connection:
        add_judgments(
            connection,
            [
                Judgment("rate", item, "size", f"A{n}", value)
                for item, *said in rows
                for n, value in enumerate(said)
            ],
        )
    report = audit(engine, load_protocol(str(protocol)), config, layout)
    alpha = {r["coefficient"]: r["value"] for r in report["agreement"]}
    ranks = {"poor": 1, "fair": 2, "good": 3}
    units = np.array([[ranks[value] for value in said] for _item, *said in rows]).T
    peer = krippendorff.alpha(reliability_data=units, level_of_measurement="ordinal")
    assert alpha["krippendorff_alpha_ordinal"] == pytest.approx(peer, abs=1e-12)
