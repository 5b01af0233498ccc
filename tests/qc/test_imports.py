"""Imports name the file and row that is wrong, and store each judgment once."""

import json
from pathlib import Path

import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.layout import Layout
from pairs_to_words.qc.imports.label_studio import read_label_studio
from pairs_to_words.qc.imports.nlvr2 import read_nlvr2
from pairs_to_words.qc.imports.requester_dump import read_requester_dump
from pairs_to_words.qc.imports.submissions import parse_time

ROW = {"identifier": "dev-1-0-0", "sentence": "s", "label": "True", "validation": {"7": "True"}}
XML = (
    '<?xml version="1.0"?><QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/'
    'AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd">{}</QuestionFormAnswers>'
)
ANSWER = "<Answer><QuestionIdentifier>{}</QuestionIdentifier><FreeText>{}</FreeText></Answer>"


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"identifier": None}, "line 2: 'identifier' is NoneType"),
        ({"identifier": "dev-1"}, "line 2: identifier 'dev-1' is not split-set-pair-sentence"),
        ({"identifier": "dev-1-0-0"}, "line 2: item dev-1-0-0 is there twice"),
        ({"validation": []}, "line 2: 'validation' is list"),
        ({"validation": {"7": True}}, "line 2: validation of worker 7 is True, not text"),
        ({"extra_validations": "x"}, "line 2: 'extra_validations' is str"),
    ],
)
def test_a_wrong_nlvr2_row_is_named(
    change: dict[str, object], expected: str, tmp_path: Path
) -> None:
    second = {**ROW, "identifier": "dev-1-1-0", **change}
    with pytest.raises(UserError) as caught:
        read_nlvr2(lines(tmp_path / "dev.json", ROW, second))
    assert expected in str(caught.value)


def test_broken_json_names_its_line(
    project: Layout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(ROW) + "\n{broken\n")
    assert main(["import", "nlvr2", str(path), "--project", str(project.root)]) == 2
    error = capsys.readouterr().err
    assert f"{path} line 2: not valid JSON" in error
    assert len(error.strip().splitlines()) == 1


def test_a_changed_file_of_the_same_name_is_refused(
    project: Layout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lines(tmp_path / "dev.json", ROW)
    arguments = ["import", "nlvr2", str(path), "--project", str(project.root)]
    assert main(arguments) == 0
    lines(path, ROW | {"validation": {"7": "False"}})
    assert main(arguments) == 2
    assert "'False' here, 'True' when it was imported before" in capsys.readouterr().err


def test_nul_and_lone_surrogates_are_stored_as_replacement_characters(
    project: Layout, tmp_path: Path
) -> None:
    row = ROW | {"validation": {"7": "a\x00b\ud800c\u202e" + "x" * 1_000_000}}
    path = lines(tmp_path / "dev.json", row)
    assert main(["import", "nlvr2", str(path), "--project", str(project.root)]) == 0
    (judgment,) = read_nlvr2(path).judgments
    assert judgment.value.startswith("a\ufffdb")
    assert "\x00" not in judgment.value


def assignment(number: int, **change: object) -> dict[str, object]:
    return {
        "AssignmentId": f"A{number}", "HITId": "H1", "WorkerId": f"W{number}",
        "AssignmentStatus": "Approved", "AcceptTime": 1_700_000_000.0,
        "SubmitTime": "2023-11-14T22:14:20+00:00",
        "Answer": XML.format(ANSWER.format("i1_label", "salt &amp; pepper")), **change,
    }  # fmt: skip


def test_a_requester_dump_gives_answers_as_typed(tmp_path: Path) -> None:
    path = tmp_path / "assignments.json"
    path.write_text(json.dumps({"NumResults": 2, "Assignments": [assignment(1), assignment(2)]}))
    work = read_requester_dump(path, "t", ["{item}_label"])
    assert [(j.item_id, j.field, j.value, j.work_seconds) for j in work.judgments] == [
        ("i1", "label", "salt & pepper", 60.0)
    ] * 2
    folder = tmp_path / "batch"
    folder.mkdir()
    lines(folder / "assignments.jsonl", assignment(1), assignment(2))
    again = read_requester_dump(folder, "t", ["{item}_label"])
    assert [j.value for j in again.judgments] == [j.value for j in work.judgments]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("<a><b></a>", "assignment A1: the answer is not the service's XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "the answer is not the service's XML"),
        ("<a>" * 200_000 + "</a>" * 200_000, "nested too deeply"),
    ],
)
def test_a_hostile_answer_is_refused_by_assignment(
    answer: str, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([assignment(1, Answer=answer)]))
    with pytest.raises(UserError, match=expected):
        read_requester_dump(path, "t")


def studio(number: int, choice: str, **change: object) -> dict[str, object]:
    result = {"from_name": "clear", "type": "choices", "value": {"choices": [choice]}}
    return {
        "id": number, "completed_by": {"id": number % 3}, "result": [result], "lead_time": 4.5,
        "created_at": "2024-05-01T10:00:00Z", "was_cancelled": False, **change,
    }  # fmt: skip


def test_label_studio_exports_with_overlap_are_one_item_and_one_submission_each(
    tmp_path: Path,
) -> None:
    task = {"id": 5, "data": {"image": "a.jpg"}, "annotations": [studio(1, "yes"), studio(2, "no")]}
    gold = studio(9, "yes", ground_truth=True)
    cancelled = studio(8, "no", was_cancelled=True)
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task, {**task, "annotations": [studio(2, "no"), gold, cancelled]}]))
    work = read_label_studio(path, "t")
    assert [(j.item_id, j.worker_id, j.value) for j in work.judgments] == [
        ("5", "1", "yes"),
        ("5", "2", "no"),
    ]
    assert work.items[0].data["gold"] == {"clear": "yes"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mon Feb 13 13:31:19 UTC 2017", "2017-02-13T13:31:19.000Z"),
        ("Wed Jan 24 09:48:10 PST 2018", "2018-01-24T17:48:10.000Z"),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00.000Z"),
        ("", ""),
    ],
)
def test_times_become_utc(text: str, expected: str) -> None:
    assert parse_time("row 2", text) == expected


def test_a_pattern_without_item_and_one_that_matches_nothing_say_so(
    project: Layout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "b.csv"
    path.write_text("HITId,AssignmentId,WorkerId,Answer.q\nH,A,W,x\n")
    arguments = ["import", "mturk-batch", str(path), "--task", "t", "--project", str(project.root)]
    assert main([*arguments, "--answers", "label"]) == 2
    assert "has no {item}" in capsys.readouterr().err
    assert main([*arguments, "--answers", "{item}_x"]) == 2
    assert "no answer matches" in capsys.readouterr().err
    assert main(arguments) == 0
