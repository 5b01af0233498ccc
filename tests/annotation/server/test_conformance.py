"""Every operation of the published service model, driven by the model: answers and refusals.

boto3 parses each response by the model; on top of that each raw body is compared with the output
shape: no unknown member, every type and enum right.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.model import ListShape, StructureShape
from pairs_to_words.annotation.server.operations import OPERATIONS
from pairs_to_words.annotation.server.service_model import service_model

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

FORM = (
    '<QuestionForm xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/'
    '2017-11-06/QuestionForm.xsd"><Question><QuestionIdentifier>q</QuestionIdentifier>'
    "<QuestionContent><Text>2 + 2?</Text></QuestionContent><AnswerSpecification><SelectionAnswer>"
    "<StyleSuggestion>radiobutton</StyleSuggestion><Selections>"
    "<Selection><SelectionIdentifier>four</SelectionIdentifier><Text>4</Text></Selection>"
    "<Selection><SelectionIdentifier>five</SelectionIdentifier><Text>5</Text></Selection>"
    "</Selections></SelectionAnswer></AnswerSpecification></Question></QuestionForm>"
)
SPECIFICATION = {
    "Destination": "http://127.0.0.1:9/hook",
    "Transport": "SNS",
    "Version": "2006-05-05",
    "EventTypes": ["HITReviewable", "Ping"],
}


def mistakes(shape: Any, value: Any, path: str = "") -> list[str]:
    """Everything in which a JSON body is not what the model's shape says."""
    if isinstance(shape, StructureShape):
        if not isinstance(value, dict):
            return [f"{path}: not a structure"]
        found = [f"{path}.{name}: unknown" for name in value if name not in shape.members]
        found += [f"{path}.{n}: missing" for n in shape.required_members if n not in value]
        for name, member in shape.members.items():
            if name in value:
                found += mistakes(member, value[name], f"{path}.{name}")
        return found
    if isinstance(shape, ListShape):
        if not isinstance(value, list):
            return [f"{path}: not a list"]
        return [m for i, v in enumerate(value) for m in mistakes(shape.member, v, f"{path}[{i}]")]
    kinds: dict[str, Any] = {
        "string": str,
        "integer": int,
        "long": int,
        "boolean": bool,
        "timestamp": (int, float),
    }
    if not isinstance(value, kinds[shape.type_name]):
        return [f"{path}: {value!r} is no {shape.type_name}"]
    if shape.metadata.get("enum") and value not in shape.metadata["enum"]:
        return [f"{path}: {value!r} is not in the enum"]
    return []


@pytest.fixture
def watched(mturk: Any) -> Any:
    """The client, with every raw response checked against the model and noted."""
    seen: dict[str, int] = {}

    def check(http_response: Any, model: Any, **_rest: Any) -> None:
        body = json.loads(http_response.content)
        if http_response.status_code == 200:
            shape = model.output_shape
            assert mistakes(shape, body) == [], model.name
        else:
            assert set(body) <= {"__type", "Message", "message", "TurkErrorCode"}, body
            assert isinstance(body["__type"], str)
        assert http_response.headers["x-amzn-RequestId"]
        assert http_response.headers["content-type"] == "application/x-amz-json-1.1"
        seen[model.name] = seen.get(model.name, 0) + 1

    mturk.meta.events.register("after-call.mturk", check)
    mturk.seen = seen
    return mturk


def test_the_table_of_operations_is_the_models(database: str) -> None:
    assert set(OPERATIONS) == set(service_model().operation_names)
    assert len(OPERATIONS) == 39


def test_every_operation_answers_as_the_model_says(
    watched: Any, new_hit: Any, new_worker: Any, refused: Any
) -> None:
    mturk, ann, bob = watched, new_worker("ann"), new_worker("bob")
    kind = mturk.create_qualification_type(
        Name="Reader",
        Description="Has read the guide",
        Keywords="reading",
        QualificationTypeStatus="Active",
        Test=FORM,
        TestDurationInSeconds=600,
        RetryDelayInSeconds=60,
    )["QualificationType"]["QualificationTypeId"]
    mturk.update_qualification_type(QualificationTypeId=kind, Description="Has read it all")
    mturk.get_qualification_type(QualificationTypeId=kind)
    mturk.get_qualification_type(QualificationTypeId="00000000000000000040")
    assert mturk.list_qualification_types(MustBeRequestable=True, Query="read")["NumResults"] == 1
    for worker in (ann, bob):
        answer = worker.post(f"/qualifications/{kind}/ask")
        worker.session.post(f"{worker.url}{answer.headers['location']}", data={"q": "four"})
    waiting = mturk.list_qualification_requests(QualificationTypeId=kind)["QualificationRequests"]
    assert [r["WorkerId"] for r in waiting] == [ann.worker_id, bob.worker_id]
    assert "four" in waiting[0]["Answer"]
    mturk.accept_qualification_request(
        QualificationRequestId=waiting[0]["QualificationRequestId"], IntegerValue=90
    )
    mturk.reject_qualification_request(
        QualificationRequestId=waiting[1]["QualificationRequestId"], Reason="wrong"
    )
    score = mturk.get_qualification_score(QualificationTypeId=kind, WorkerId=ann.worker_id)
    assert score["Qualification"]["IntegerValue"] == 90
    mturk.associate_qualification_with_worker(QualificationTypeId=kind, WorkerId=bob.worker_id)
    assert mturk.list_workers_with_qualification_type(QualificationTypeId=kind)["NumResults"] == 2

    need = [{"QualificationTypeId": kind, "Comparator": "Exists", "ActionsGuarded": "Accept"}]
    hit = new_hit(MaxAssignments=3, QualificationRequirements=need, RequesterAnnotation="a")
    hit_id = hit["HITId"]
    assert mturk.list_hits_for_qualification_type(QualificationTypeId=kind)["NumResults"] == 1
    other_type = mturk.create_hit_type(
        Title="Other", Description="d", Reward="0.10", AssignmentDurationInSeconds=60
    )["HITTypeId"]
    second = mturk.create_hit_with_hit_type(
        HITTypeId=other_type, LifetimeInSeconds=60, Question=hit["Question"]
    )["HIT"]["HITId"]
    mturk.update_hit_type_of_hit(HITId=second, HITTypeId=hit["HITTypeId"])
    mturk.update_notification_settings(
        HITTypeId=other_type, Notification=SPECIFICATION, Active=True
    )
    mturk.send_test_event_notification(Notification=SPECIFICATION, TestEventType="Ping")

    first, again = ann.do(hit_id), bob.do(hit_id)
    mturk.get_hit(HITId=hit_id)
    mturk.list_hits(MaxResults=1)
    mturk.get_assignment(AssignmentId=first)
    mturk.list_assignments_for_hit(HITId=hit_id, AssignmentStatuses=["Submitted"])
    mturk.approve_assignment(AssignmentId=first, RequesterFeedback="good")
    mturk.reject_assignment(AssignmentId=again, RequesterFeedback="bad")
    mturk.send_bonus(
        WorkerId=ann.worker_id, AssignmentId=first, BonusAmount="0.50", Reason="thanks"
    )
    assert mturk.list_bonus_payments(HITId=hit_id)["NumResults"] == 1
    mturk.get_account_balance()
    mturk.create_additional_assignments_for_hit(HITId=hit_id, NumberOfAdditionalAssignments=1)
    told = mturk.notify_workers(
        Subject="s", MessageText="m", WorkerIds=[ann.worker_id, "A0NOBODY"]
    )["NotifyWorkersFailureStatuses"]
    assert [t["WorkerId"] for t in told] == ["A0NOBODY"]
    mturk.create_worker_block(WorkerId=bob.worker_id, Reason="copies")
    assert mturk.list_worker_blocks()["WorkerBlocks"] == [
        {"WorkerId": bob.worker_id, "Reason": "copies"}
    ]
    mturk.delete_worker_block(WorkerId=bob.worker_id)
    with refused("InvalidAssignmentState"):
        mturk.get_file_upload_url(AssignmentId=first, QuestionIdentifier="q")
    mturk.list_review_policy_results_for_hit(HITId=hit_id)
    mturk.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)
    assert mturk.list_reviewable_hits(Status="Reviewable")["NumResults"] == 1
    mturk.update_hit_review_status(HITId=hit_id)
    mturk.delete_hit(HITId=hit_id)
    mturk.disassociate_qualification_from_worker(
        QualificationTypeId=kind, WorkerId=bob.worker_id, Reason="over"
    )
    with refused(
        "InvalidQualificationState", "This operation can be called with a status of: Granted"
    ):
        mturk.get_qualification_score(QualificationTypeId=kind, WorkerId=bob.worker_id)
    mturk.delete_qualification_type(QualificationTypeId=kind)
    assert set(mturk.seen) == set(service_model().operation_names)


UNKNOWN = {"EntityId": "3UNKNOWN", "CustomerId": "A0UNKNOWN"}


def sample_of(shape: Any, name: str = "") -> Any:
    """A well-formed value of a shape that names nothing that exists."""
    if isinstance(shape, StructureShape):
        return {m: sample_of(shape.members[m], m) for m in shape.required_members}
    if isinstance(shape, ListShape):
        return [sample_of(shape.member)]
    if shape.metadata.get("enum"):
        return shape.metadata["enum"][0]
    if shape.name in UNKNOWN:
        return UNKNOWN[shape.name]
    kinds = {"integer": 60, "long": 60, "boolean": True, "timestamp": 1_420_070_400}
    if name in ("Reward", "BonusAmount"):
        return "0.10"
    return kinds.get(shape.type_name, "3UNKNOWN")


def test_operations_on_what_is_not_there_are_refused_and_never_a_fault(watched: Any) -> None:
    for operation in sorted(OPERATIONS):
        params = sample_of(service_model().operation_model(operation).input_shape)
        try:
            getattr(watched, xform_name(operation))(**params)
        except ClientError as error:
            assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 400, operation


def wrong_values(shape: Any, name: str) -> list[Any]:
    """Values of the right type outside a shape's pattern, length, range or enum."""
    rules = shape.metadata
    found: list[Any] = []
    if shape.type_name == "string":
        if "max" in rules:
            found.append("A" * (rules["max"] + 1))
        if "pattern" in rules:
            found.append("lower case!")
        if rules.get("enum"):
            found.append("Nonsense")
    elif shape.type_name == "integer" and "max" in rules:
        found += [rules["max"] + 1]
    return found


def test_every_constraint_of_the_model_is_checked_by_the_server(watched: Any) -> None:
    checked = 0
    for operation in sorted(OPERATIONS):
        shape = service_model().operation_model(operation).input_shape
        good = sample_of(shape)
        for name, member in shape.members.items():
            for value in wrong_values(member, name):
                with pytest.raises(ClientError) as caught:
                    getattr(watched, xform_name(operation))(**good | {name: value})
                error = caught.value.response["Error"]
                assert error["Code"] == "ValidationException", (operation, name, value)
                assert f"at '{name[0].lower()}{name[1:]}' failed to satisfy" in error["Message"]
                checked += 1
    assert checked > 100
