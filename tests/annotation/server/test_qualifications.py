"""Qualifications: who may see, preview and accept; tests with answer keys; review policies."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from pairs_to_words.annotation.server.plurality import agreement

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
CHOICES = "".join(
    f"<Selection><SelectionIdentifier>{x}</SelectionIdentifier><Text>{x}</Text></Selection>"
    for x in ("a", "b", "c")
)


def form(*names: str) -> str:
    questions = "".join(
        f"<Question><QuestionIdentifier>{name}</QuestionIdentifier><IsRequired>true</IsRequired>"
        f"<QuestionContent><FormattedContent><![CDATA[<b>{name}</b><script>x()</script>]]>"
        "</FormattedContent></QuestionContent><AnswerSpecification><SelectionAnswer>"
        f"<StyleSuggestion>checkbox</StyleSuggestion><Selections>{CHOICES}</Selections>"
        "</SelectionAnswer></AnswerSpecification></Question>"
        for name in names
    )
    return f'<QuestionForm xmlns="{SCHEMA}/2005-10-01/QuestionForm.xsd">{questions}</QuestionForm>'


def option(*identifiers: str, score: int) -> str:
    inner = "".join(f"<SelectionIdentifier>{x}</SelectionIdentifier>" for x in identifiers)
    return f"<AnswerOption>{inner}<AnswerScore>{score}</AnswerScore></AnswerOption>"


KEY = (
    f'<AnswerKey xmlns="{SCHEMA}/2005-10-01/AnswerKey.xsd">'
    f"<Question><QuestionIdentifier>one</QuestionIdentifier>{option('a', score=5)}</Question>"
    f"<Question><QuestionIdentifier>two</QuestionIdentifier>{option('a', 'b', score=10)}"
    f"{option('a', score=5)}<DefaultScore>1</DefaultScore></Question>"
    "<QualificationValueMapping><PercentageMapping><MaximumSummedScore>15</MaximumSummedScore>"
    "</PercentageMapping></QualificationValueMapping></AnswerKey>"
)


def make_type(mturk: Any, **more: Any) -> str:
    values = {"Name": "Q", "Description": "d", "QualificationTypeStatus": "Active"}
    made = mturk.create_qualification_type(**values | more)["QualificationType"]
    return str(made["QualificationTypeId"])


@pytest.mark.parametrize(
    ("guard", "seen", "previewed"),
    [
        ("Accept", True, True),
        ("PreviewAndAccept", True, False),
        ("DiscoverPreviewAndAccept", False, False),
    ],
)
def test_a_requirement_guards_the_actions_it_names(
    mturk: Any, new_hit: Any, new_worker: Any, guard: str, seen: bool, previewed: bool
) -> None:
    kind = make_type(mturk)
    need = [{"QualificationTypeId": kind, "Comparator": "Exists", "ActionsGuarded": guard}]
    hit = new_hit(QualificationRequirements=need)
    worker = new_worker()
    assert bool(worker.tasks()["groups"]) is seen
    preview = worker.session.get(f"{worker.url}/preview/{hit['HITGroupId']}")
    assert (preview.status_code == 200) is previewed
    assert worker.post(f"/hits/{hit['HITId']}/accept").status_code == 403
    mturk.associate_qualification_with_worker(
        QualificationTypeId=kind, WorkerId=worker.worker_id, IntegerValue=7
    )
    assert worker.tasks()["groups"][0]["eligible"]
    worker.do(hit["HITId"])


@pytest.mark.parametrize(
    ("comparator", "values", "allowed"),
    [
        ("GreaterThan", [50], True),
        ("LessThan", [50], False),
        ("EqualTo", [60], True),
        ("NotEqualTo", [60], False),
        ("In", [10, 60], True),
        ("NotIn", [10, 60], False),
        ("DoesNotExist", None, False),
    ],
)
def test_scores_are_compared(
    mturk: Any, new_hit: Any, new_worker: Any, comparator: str, values: Any, allowed: bool
) -> None:
    kind = make_type(mturk)
    need: dict[str, Any] = {"QualificationTypeId": kind, "Comparator": comparator}
    if values:
        need["IntegerValues"] = values
    hit = new_hit(QualificationRequirements=[need])["HITId"]
    worker = new_worker()
    mturk.associate_qualification_with_worker(
        QualificationTypeId=kind, WorkerId=worker.worker_id, IntegerValue=60
    )
    assert worker.post(f"/hits/{hit}/accept").ok is allowed


def test_a_test_with_an_answer_key_is_graded_at_once_and_its_answers_are_kept(
    server: Any, mturk: Any, new_worker: Any
) -> None:
    kind = make_type(mturk, Test=form("one", "two"), AnswerKey=KEY, TestDurationInSeconds=60)
    for label, given, score in (
        ("all right", {"one": "a", "two": ["a", "b"]}, 100),
        ("half", {"one": "b", "two": ["a"]}, 33),
        ("default", {"one": "a", "two": ["c"]}, 40),
    ):
        worker = new_worker(label)
        where = worker.post(f"/qualifications/{kind}/ask").headers["location"]
        frame = worker.session.get(f"{worker.url}{where}/frame").text
        assert "<b>one</b>" in frame
        assert "<script>" not in frame
        page = worker.session.post(f"{worker.url}{where}", data=given)
        assert f"<strong>{score}</strong>" in page.text
        found = mturk.get_qualification_score(QualificationTypeId=kind, WorkerId=worker.worker_id)
        assert found["Qualification"]["IntegerValue"] == score
        again = worker.post(f"/qualifications/{kind}/ask")
        assert "only once" in again.text


def test_a_test_is_over_when_its_time_is(mturk: Any, new_worker: Any, clock: Any) -> None:
    kind = make_type(mturk, Test=form("one"), TestDurationInSeconds=60, RetryDelayInSeconds=3600)
    worker = new_worker()
    where = worker.post(f"/qualifications/{kind}/ask").headers["location"]
    clock.forward(seconds=61)
    assert worker.session.post(f"{worker.url}{where}", data={"one": "a"}).status_code == 409
    assert "try again in" in worker.post(f"/qualifications/{kind}/ask").text
    clock.forward(hours=1)
    assert worker.post(f"/qualifications/{kind}/ask").headers["location"] != where


def test_names_are_unique_until_the_type_is_deleted(mturk: Any, refused: Any) -> None:
    kind = make_type(mturk)
    with refused(
        "QualificationTypeAlreadyExists",
        "You have already created a QualificationType with this name.",
    ):
        make_type(mturk)
    mturk.delete_qualification_type(QualificationTypeId=kind)
    make_type(mturk)


def test_the_documented_plurality_example(database: str) -> None:
    workers = [
        {"A": "coat", "B": "blue", "C": "large", "D": "Furry"},
        {"A": "sweater", "B": "blue", "C": "large", "D": "fur"},
        {"A": "coat", "B": "green", "C": "large", "D": "furr"},
    ]
    answers = [{q: frozenset([a]) for q, a in given.items()} for given in workers]
    found = agreement(["A", "B", "C", "D"], answers, 50)
    assert {q: found.question_scores[q] for q in "ABC"} == {"A": 66, "B": 66, "C": 100}
    assert set(found.agreed) == {"A", "B", "C"}
    assert found.hit_score == 75
    assert found.worker_scores == [100, 66, 66]


def test_plurality_approves_rejects_and_extends_when_a_hit_is_reviewable(
    mturk: Any, new_hit: Any, new_worker: Any
) -> None:
    policy = {
        "PolicyName": "SimplePlurality/2011-09-01",
        "Parameters": [
            {"Key": key, "Values": values}
            for key, values in (
                ("QuestionIds", ["A", "B", "C", "D"]),
                ("QuestionAgreementThreshold", ["50"]),
                ("ApproveIfWorkerAgreementScoreIsAtLeast", ["100"]),
                ("RejectIfWorkerAgreementScoreIsLessThan", ["67"]),
                ("RejectReason", ["Others saw it otherwise."]),
                ("ExtendIfHITAgreementScoreIsLessThan", ["80"]),
                ("ExtendMaximumAssignments", ["4"]),
                ("ExtendMinimumTimeInSeconds", ["3600"]),
            )
        ],
    }
    hit = new_hit(MaxAssignments=3, HITReviewPolicy=policy)["HITId"]
    given = [
        {"A": "coat", "B": "blue", "C": "large", "D": "Furry"},
        {"A": "sweater", "B": "blue", "C": "large", "D": "fur"},
        {"A": "coat", "B": "green", "C": "large", "D": "furr"},
    ]
    done = [new_worker(f"w{i}").do(hit, **fields) for i, fields in enumerate(given)]
    states = [mturk.get_assignment(AssignmentId=a)["Assignment"] for a in done]
    assert [s["AssignmentStatus"] for s in states] == ["Approved", "Rejected", "Rejected"]
    assert states[1]["RequesterFeedback"] == "Others saw it otherwise."
    found = mturk.get_hit(HITId=hit)["HIT"]
    assert (found["MaxAssignments"], found["HITStatus"]) == (4, "Assignable")
    report = mturk.list_review_policy_results_for_hit(HITId=hit, MaxResults=100)
    results = report["HITReviewReport"]["ReviewResults"]
    scores = {r["Key"]: r["Value"] for r in results if "QuestionId" not in r}
    assert scores["HITAgreementScore"] == "75"
    actions = [a["ActionName"] for a in report["HITReviewReport"]["ReviewActions"]]
    assert actions == ["approve", "reject", "reject", "extend"]


def test_known_answers_are_scored_at_submit(mturk: Any, new_hit: Any, new_worker: Any) -> None:
    policy = {
        "PolicyName": "ScoreMyKnownAnswers/2011-09-01",
        "Parameters": [
            {
                "Key": "AnswerKey",
                "MapEntries": [
                    {"Key": "one", "Values": ["a"]},
                    {"Key": "two", "Values": ["a", "b"]},
                ],
            },
            {"Key": "ApproveIfKnownAnswerScoreIsAtLeast", "Values": ["100"]},
            {"Key": "RejectIfKnownAnswerScoreIsLessThan", "Values": ["50"]},
        ],
    }
    hit = new_hit(MaxAssignments=3, AssignmentReviewPolicy=policy)["HITId"]
    good, half, bad = (new_worker(f"w{i}") for i in range(3))
    done = [
        good.do(hit, one=" a ", two="b|a"),
        half.do(hit, one="a", two="a"),
        bad.do(hit, one="A", two="a"),
    ]
    states = [mturk.get_assignment(AssignmentId=a)["Assignment"] for a in done]
    assert [s["AssignmentStatus"] for s in states] == ["Approved", "Submitted", "Rejected"]
    report = mturk.list_review_policy_results_for_hit(HITId=hit, MaxResults=100)
    results = report["AssignmentReviewReport"]["ReviewResults"]
    assert [r["Value"] for r in results if r["Key"] == "KnownAnswerScore"] == ["100", "50", "0"]


def test_notifications_reach_a_webhook_and_a_queue(
    mturk: Any, new_hit: Any, new_worker: Any
) -> None:
    received: list[str] = []
    arrived = threading.Semaphore(0)

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()
            arrived.release()

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    hook = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{hook.server_port}/queue"
    hit = new_hit()
    for transport in ("SNS", "SQS"):
        specification = {
            "Destination": url,
            "Transport": transport,
            "Version": "2006-05-05",
            "EventTypes": ["AssignmentSubmitted"],
        }
        mturk.update_notification_settings(
            HITTypeId=hit["HITTypeId"], Notification=specification, Active=True
        )
        assignment = new_worker(transport).do(new_hit()["HITId"])
        assert arrived.acquire(timeout=10)
        assert assignment in received[-1]
    assert received[1].startswith("Action=SendMessage")
    mturk.update_notification_settings(HITTypeId=hit["HITTypeId"], Active=False)
    new_worker("third").do(new_hit()["HITId"])
    hook.shutdown()
    assert len(received) == 2
