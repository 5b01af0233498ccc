"""Operations on qualification types, the workers who have them, and requests for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairs_to_words.annotation.server.faults import (
    ParameterValidationError,
    RequestError,
    does_not_exist,
    not_valid,
    wrong_state,
)
from pairs_to_words.annotation.server.hit_operations import shape_hit
from pairs_to_words.annotation.server.ids import new_id
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.paging import page
from pairs_to_words.annotation.server.qualifying import grant
from pairs_to_words.annotation.server.question_form import check_answer_key, check_test
from pairs_to_words.annotation.server.requirements import SYSTEM
from pairs_to_words.annotation.server.system_types import SYSTEM_TYPES
from pairs_to_words.annotation.server.tables import (
    hit_types,
    hits,
    qualification_requests,
    qualification_types,
    qualifications,
)
from pairs_to_words.annotation.server.worker_operations import require_worker, send_message
from sqlalchemy import insert, or_, select, update

TypeRow = dict[str, Any]

MOST_NAME = 200
MOST_DESCRIPTION = 2000
MOST_KEYWORDS = 1000

# parameter -> column, for what can be stated at creation and changed later
_COLUMNS = {
    "Description": "description",
    "QualificationTypeStatus": "status",
    "Test": "test",
    "AnswerKey": "answer_key",
    "TestDurationInSeconds": "test_seconds",
    "RetryDelayInSeconds": "retry_delay_seconds",
    "AutoGranted": "auto_granted",
    "AutoGrantedValue": "auto_granted_value",
}


def create_qualification_type(call: Call) -> dict[str, Any]:
    """Make a qualification type; its name is unique among the requester's own."""
    params = call.params
    if not params["Name"].strip() or len(params["Name"]) > MOST_NAME:
        raise not_valid(params["Name"], "Name")
    if len(params.get("Keywords", "")) > MOST_KEYWORDS:
        raise not_valid("...", "Keywords")
    same = select(qualification_types.c.seq).where(
        qualification_types.c.requester_id == call.requester_id,
        qualification_types.c.name == params["Name"],
        qualification_types.c.deleted_at.is_(None),
    )
    if call.connection.execute(same).first() is not None:
        raise RequestError(
            "QualificationTypeAlreadyExists",
            "You have already created a QualificationType with this name.",
        )
    row: TypeRow = {
        "qualification_type_id": new_id(),
        "requester_id": call.requester_id,
        "name": params["Name"],
        "keywords": params.get("Keywords"),
        "created_at": call.now,
        **dict.fromkeys(_COLUMNS.values()),
        "auto_granted": False,
    }
    row |= {column: params[name] for name, column in _COLUMNS.items() if name in params}
    _check_type(row)
    call.connection.execute(insert(qualification_types).values(**row))
    return {"QualificationType": shape_type(row)}


def update_qualification_type(call: Call) -> dict[str, Any]:
    """Change a qualification type; name and keywords stay."""
    row = own_type(call)
    params = call.params
    if "Test" in params and "TestDurationInSeconds" not in params:
        raise ParameterValidationError(
            "If Test is specified, TestDurationInSeconds must also be specified."
        )
    changes = {column: params[name] for name, column in _COLUMNS.items() if name in params}
    if "Test" in params and "AnswerKey" not in params:
        changes["answer_key"] = None  # the three parameters together state the new test
    row |= changes
    _check_type(row)
    if changes:
        call.connection.execute(
            update(qualification_types)
            .where(qualification_types.c.qualification_type_id == row["qualification_type_id"])
            .values(**changes)
        )
    return {"QualificationType": shape_type(row)}


def get_qualification_type(call: Call) -> dict[str, Any]:
    """Return one qualification type, of the system's or of any requester's."""
    type_id = call.params["QualificationTypeId"]
    if type_id in SYSTEM_TYPES:
        return {"QualificationType": SYSTEM_TYPES[type_id]}
    row = _find_type(call)
    mine = row["requester_id"] == call.requester_id
    return {"QualificationType": shape_type(row, owner=mine)}


def list_qualification_types(call: Call) -> dict[str, Any]:
    """Return active qualification types that match a search."""
    types = qualification_types
    query = select(types).where(types.c.deleted_at.is_(None), types.c.status == "Active")
    if call.params.get("MustBeOwnedByCaller", False):
        query = query.where(types.c.requester_id == call.requester_id)
    if words := call.params.get("Query", "").split():
        for word in words:
            like = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
            query = query.where(
                or_(
                    types.c.name.ilike(like, escape="\\"),
                    types.c.description.ilike(like, escape="\\"),
                    types.c.keywords.ilike(like, escape="\\"),
                )
            )

    def shape(row: Mapping[str, Any]) -> dict[str, Any]:
        return shape_type(row, owner=row["requester_id"] == call.requester_id)

    return page(call, query, types.c.seq, "QualificationTypes", shape)


def delete_qualification_type(call: Call) -> dict[str, Any]:
    """Delete a qualification type: its pending requests are rejected, its grants stay."""
    row = own_type(call)
    type_id = row["qualification_type_id"]
    call.connection.execute(
        update(qualification_types)
        .where(qualification_types.c.qualification_type_id == type_id)
        .values(deleted_at=call.now)
    )
    call.connection.execute(
        update(qualification_requests)
        .where(
            qualification_requests.c.qualification_type_id == type_id,
            qualification_requests.c.state.in_(("Pending", "Testing")),
        )
        .values(state="Rejected", reason="The qualification type was deleted.")
    )
    return {}


def associate(call: Call) -> dict[str, Any]:
    """Give a worker a qualification."""
    row = own_type(call)
    require_worker(call)
    worker_id = call.params["WorkerId"]
    grant(
        call.connection,
        row["qualification_type_id"],
        worker_id,
        call.params.get("IntegerValue", 1),
        call.now,
    )
    if call.params.get("SendNotification", True):
        body = f"You have the qualification {row['name']} now."
        send_message(call, worker_id, "You have a new qualification", body)
    return {}


def disassociate(call: Call) -> dict[str, Any]:
    """Take a qualification away from a worker."""
    row = own_type(call)
    require_worker(call)
    qualification = _find_qualification(call, row)
    if qualification["status"] != "Granted":
        raise wrong_state("Qualification", "Granted")
    reason = call.params.get("Reason", "")
    call.connection.execute(
        update(qualifications)
        .where(qualifications.c.seq == qualification["seq"])
        .values(status="Revoked", reason=reason)
    )
    if reason:
        send_message(call, call.params["WorkerId"], f"Qualification ended: {row['name']}", reason)
    return {}


def get_score(call: Call) -> dict[str, Any]:
    """Return a worker's score of one of the requester's qualification types."""
    row = own_type(call)
    require_worker(call)
    qualification = _find_qualification(call, row)
    if qualification["status"] != "Granted":
        raise wrong_state("Qualification", "Granted")
    return {"Qualification": shape_qualification(qualification)}


def list_workers(call: Call) -> dict[str, Any]:
    """Return who has (or had) a qualification."""
    row = own_type(call)
    query = select(qualifications).where(
        qualifications.c.qualification_type_id == row["qualification_type_id"],
        qualifications.c.status == call.params.get("Status", "Granted"),
    )
    return page(call, query, qualifications.c.seq, "Qualifications", shape_qualification)


def list_hits_for_type(call: Call) -> dict[str, Any]:
    """Return the requester's HITs that require a qualification type."""
    type_id = call.params["QualificationTypeId"]
    if type_id not in SYSTEM:
        _find_type(call)
    own = select(hit_types.c.hit_type_id, hit_types.c.requirements).where(
        hit_types.c.requester_id == call.requester_id
    )
    using = [
        row.hit_type_id
        for row in call.connection.execute(own)
        if any(r["QualificationTypeId"] == type_id for r in row.requirements)
    ]
    query = select(hits).where(hits.c.hit_type_id.in_(using), hits.c.status != "Disposed")
    return page(call, query, hits.c.seq, "HITs", lambda hit: shape_hit(call, hit))


def list_requests(call: Call) -> dict[str, Any]:
    """Return the qualification requests that wait for the requester."""
    requests, types = qualification_requests, qualification_types
    query = (
        select(requests, types.c.test)
        .join(types, types.c.qualification_type_id == requests.c.qualification_type_id)
        .where(types.c.requester_id == call.requester_id, requests.c.state == "Pending")
    )
    if "QualificationTypeId" in call.params:
        row = own_type(call)
        query = query.where(requests.c.qualification_type_id == row["qualification_type_id"])
    return page(call, query, requests.c.seq, "QualificationRequests", _shape_request)


def accept_request(call: Call) -> dict[str, Any]:
    """Grant a request; without IntegerValue the score is 1."""
    request = _own_request(call)
    value = call.params.get("IntegerValue", 1)
    _decide(call, request, "Granted", "", value)
    grant(call.connection, request["qualification_type_id"], request["worker_id"], value, call.now)
    return {}


def reject_request(call: Call) -> dict[str, Any]:
    """Refuse a request; the worker can read the reason."""
    request = _own_request(call)
    reason = call.params.get("Reason", "")
    _decide(call, request, "Rejected", reason, None)
    send_message(call, request["worker_id"], "Your qualification request was refused", reason)
    return {}


def own_type(call: Call) -> TypeRow:
    """Return one of the requester's own qualification types.

    Raises:
        RequestError: There is none, or it is another requester's.
    """
    row = _find_type(call)
    if row["requester_id"] != call.requester_id:
        raise RequestError(
            "PermissionDeniedException",
            f"You are not the owner of the QualificationType {row['qualification_type_id']}.",
        )
    return row


def shape_type(row: Mapping[str, Any], *, owner: bool = True) -> dict[str, Any]:
    """Return a qualification type as the service shows it; the answer key only to its owner."""
    return {
        "QualificationTypeId": row["qualification_type_id"],
        "CreationTime": row["created_at"],
        "Name": row["name"],
        "Description": row["description"],
        "Keywords": row["keywords"],
        "QualificationTypeStatus": row["status"],
        "Test": row["test"],
        "TestDurationInSeconds": row["test_seconds"],
        "AnswerKey": row["answer_key"] if owner else None,
        "RetryDelayInSeconds": row["retry_delay_seconds"],
        "IsRequestable": True,
        "AutoGranted": bool(row["auto_granted"]),
        "AutoGrantedValue": row["auto_granted_value"],
    }


def shape_qualification(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a worker's qualification as the service shows it."""
    return {
        "QualificationTypeId": row["qualification_type_id"],
        "WorkerId": row["worker_id"],
        "GrantTime": row["granted_at"],
        "IntegerValue": row["value"],
        "Status": row["status"],
    }


def _check_type(row: TypeRow) -> None:
    if not row["description"].strip() or len(row["description"]) > MOST_DESCRIPTION:
        raise not_valid(row["description"][:80], "Description")
    if row["auto_granted"] and row["test"] is not None:
        raise ParameterValidationError(
            "If the Test parameter is specified, AutoGranted cannot be true."
        )
    if row["auto_granted"] and row["auto_granted_value"] is None:
        row["auto_granted_value"] = 1
    if row["retry_delay_seconds"] is not None and row["retry_delay_seconds"] < 0:
        raise not_valid(row["retry_delay_seconds"], "RetryDelayInSeconds")
    if row["test"] is not None:
        if row["test_seconds"] is None or row["test_seconds"] < 1:
            raise ParameterValidationError(
                "If Test is specified, TestDurationInSeconds must also be specified."
            )
        check_test(row["test"])
    if row["answer_key"] is not None:
        if row["test"] is None:
            raise ParameterValidationError(
                "If AnswerKey is specified, Test must also be specified."
            )
        check_answer_key(row["answer_key"])


def _find_type(call: Call) -> TypeRow:
    type_id = call.params["QualificationTypeId"]
    query = select(qualification_types).where(
        qualification_types.c.qualification_type_id == type_id,
        qualification_types.c.deleted_at.is_(None),
    )
    row = call.connection.execute(query).mappings().one_or_none()
    if row is None:
        raise does_not_exist("QualificationType", type_id)
    return dict(row)


def _find_qualification(call: Call, row: TypeRow) -> dict[str, Any]:
    query = select(qualifications).where(
        qualifications.c.qualification_type_id == row["qualification_type_id"],
        qualifications.c.worker_id == call.params["WorkerId"],
    )
    found = call.connection.execute(query).mappings().one_or_none()
    if found is None:
        raise RequestError(
            "QualificationDoesNotExist",
            f"Worker {call.params['WorkerId']} does not have the QualificationType "
            f"{row['qualification_type_id']}: the qualification does not exist.",
        )
    return dict(found)


def _own_request(call: Call) -> dict[str, Any]:
    request_id = call.params["QualificationRequestId"]
    requests, types = qualification_requests, qualification_types
    query = (
        select(requests)
        .join(types, types.c.qualification_type_id == requests.c.qualification_type_id)
        .where(requests.c.request_id == request_id, types.c.requester_id == call.requester_id)
    )
    row = call.connection.execute(query).mappings().one_or_none()
    if row is None:
        raise does_not_exist("QualificationRequest", request_id)
    if row["state"] != "Pending":
        raise wrong_state("QualificationRequest", "Submitted")
    return dict(row)


def _decide(
    call: Call, request: Mapping[str, Any], state: str, reason: str, value: int | None
) -> None:
    call.connection.execute(
        update(qualification_requests)
        .where(qualification_requests.c.seq == request["seq"])
        .values(state=state, reason=reason, value=value)
    )


def _shape_request(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "QualificationRequestId": row["request_id"],
        "QualificationTypeId": row["qualification_type_id"],
        "WorkerId": row["worker_id"],
        "Test": row["test"],
        "Answer": row["answer"],
        "SubmitTime": row["submitted_at"],
    }
