"""Operations on HITs and HIT types."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from pairs_to_words.annotation.money import MANY_ASSIGNMENTS, from_cents, to_cents
from pairs_to_words.annotation.server.faults import (
    ParameterValidationError,
    RequestError,
    does_not_exist,
    not_valid,
    wrong_state,
)
from pairs_to_words.annotation.server.hit_state import available, find_hit, save_hit
from pairs_to_words.annotation.server.ids import new_id
from pairs_to_words.annotation.server.layouts import fill_layout
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.notifications import notify
from pairs_to_words.annotation.server.paging import page
from pairs_to_words.annotation.server.policies import check_policies
from pairs_to_words.annotation.server.questions import parse_question
from pairs_to_words.annotation.server.requester import require_funds, token_used
from pairs_to_words.annotation.server.requirements import check_requirements
from pairs_to_words.annotation.server.tables import hit_questions, hit_types, hits
from sqlalchemy import insert, select

YEAR = 31_536_000
MONTH = 2_592_000
MAX_ASSIGNMENTS = 1_000_000_000


def create_hit_type(call: Call) -> dict[str, Any]:
    """Register properties that HITs share; the same properties give the same id."""
    return {"HITTypeId": _hit_type(call)}


def create_hit(call: Call) -> dict[str, Any]:
    """Publish a HIT with its own properties."""
    _refuse_repeated(call, "CreateHIT")
    return {"HIT": _publish(call, "CreateHIT", _hit_type(call))}


def create_hit_with_hit_type(call: Call) -> dict[str, Any]:
    """Publish a HIT of a registered type."""
    _refuse_repeated(call, "CreateHITWithHITType")
    return {"HIT": _publish(call, "CreateHITWithHITType", _own_type(call))}


def get_hit(call: Call) -> dict[str, Any]:
    """Return one HIT."""
    hit = find_hit(call.connection, call.requester_id, call.params["HITId"])
    return {"HIT": shape_hit(call, hit)}


def list_hits(call: Call) -> dict[str, Any]:
    """Return the requester's HITs that are not disposed, oldest first."""
    query = select(hits).where(
        hits.c.requester_id == call.requester_id, hits.c.status != "Disposed"
    )
    return page(call, query, hits.c.seq, "HITs", lambda hit: shape_hit(call, hit))


def list_reviewable_hits(call: Call) -> dict[str, Any]:
    """Return the HITs that wait for review: ids and states only, as the service did."""
    query = select(hits).where(
        hits.c.requester_id == call.requester_id,
        hits.c.status == call.params.get("Status", "Reviewable"),
    )
    if "HITTypeId" in call.params:
        query = query.where(hits.c.hit_type_id == _own_type(call))
    return page(call, query, hits.c.seq, "HITs", lambda hit: shape_hit(call, hit))


def update_expiration(call: Call) -> dict[str, Any]:
    """Move a HIT's expiry; a past moment expires it now."""
    hit = find_hit(call.connection, call.requester_id, call.params["HITId"])
    moment = call.params["ExpireAt"]
    if moment > call.now + YEAR * 1000:
        raise not_valid(moment // 1000, "ExpireAt")
    was_open = hit["expires_at"] > call.now
    moment = max(moment, min(hit["expires_at"], call.now)) if moment <= call.now else moment
    _require_for_reopening(call, hit, moment)
    closed = moment <= call.now
    save_hit(call.connection, call.memory, hit, call.now, expires_at=moment, expiry_seen=closed)
    if closed and was_open:
        notify(call.connection, "HITExpired", call.now, hit)
    elif not closed:
        call.memory.note(moment)
        notify(call.connection, "HITExtended", call.now, hit)
    return {}


def create_additional_assignments(call: Call) -> dict[str, Any]:
    """Raise a HIT's number of assignments."""
    _refuse_repeated(call, "CreateAdditionalAssignmentsForHIT")
    hit = find_hit(call.connection, call.requester_id, call.params["HITId"])
    more = call.params["NumberOfAdditionalAssignments"]
    total = hit["max_assignments"] + more
    if more < 1 or total > MAX_ASSIGNMENTS:
        raise not_valid(more, "NumberOfAdditionalAssignments")
    if hit["max_assignments"] < MANY_ASSIGNMENTS <= total:
        raise RequestError(
            "InvalidMaximumAssignmentsIncrease",
            "HITs created with fewer than 10 assignments cannot be extended to have 10 or more "
            "assignments.",
        )
    if hit["expires_at"] > call.now:
        require_funds(call, more * sum(call.memory.cost(call.connection, hit)))
    save_hit(call.connection, call.memory, hit, call.now, max_assignments=total)
    notify(call.connection, "HITExtended", call.now, hit)
    token_used(call, "CreateAdditionalAssignmentsForHIT", hit["hit_id"])
    return {}


def update_review_status(call: Call) -> dict[str, Any]:
    """Move a HIT from Reviewable to Reviewing, or back."""
    hit = find_hit(call.connection, call.requester_id, call.params["HITId"])
    revert = call.params.get("Revert", False)
    needed = "Reviewing" if revert else "Reviewable"
    if hit["status"] not in ("Reviewable", "Reviewing"):
        raise wrong_state("HIT", needed, hit["status"])
    changes = {"reviewing": not revert}
    save_hit(call.connection, call.memory, hit, call.now, **changes)
    return {}


def update_hit_type(call: Call) -> dict[str, Any]:
    """Give a HIT the properties of another HIT type."""
    hit = find_hit(call.connection, call.requester_id, call.params["HITId"])
    hit_type_id = _own_type(call)
    _reward, fee = call.memory.cost(call.connection, hit)
    new_reward, new_fee = call.memory.cost(call.connection, hit | {"hit_type_id": hit_type_id})
    more = (new_reward + new_fee) - (_reward + fee)
    if more > 0:
        require_funds(call, more * (available(hit) + hit["pending"] + hit["submitted"]))
    save_hit(call.connection, call.memory, hit, call.now, hit_type_id=hit_type_id)
    return {}


def delete_hit(call: Call) -> dict[str, Any]:
    """Dispose of a HIT whose work is all approved or rejected."""
    hit = find_hit(call.connection, call.requester_id, call.params["HITId"])
    if hit["status"] not in ("Reviewable", "Reviewing"):
        raise wrong_state("HIT", "Reviewing, Reviewable", hit["status"])
    if hit["submitted"]:
        raise RequestError(
            "InvalidHITState",
            f"This HIT is currently in the state '{hit['status']}' and has {hit['submitted']} "
            "submitted assignments that are neither approved nor rejected.  Review them first.",
        )
    dispose(call, hit)
    return {}


def dispose(call: Call, hit: dict[str, Any]) -> None:
    """Mark a HIT as disposed."""
    save_hit(call.connection, call.memory, hit, call.now, disposed_at=call.now)
    notify(call.connection, "HITDisposed", call.now, hit)


def shape_hit(call: Call, hit: Mapping[str, Any], *, question: bool = True) -> dict[str, Any]:
    """Return a HIT as the service shows it."""
    kind = call.memory.hit_type(call.connection, hit["hit_type_id"])
    return {
        "HITId": hit["hit_id"],
        "HITTypeId": hit["hit_type_id"],
        "HITGroupId": kind["group_id"],
        "HITLayoutId": hit["layout_id"],
        "CreationTime": hit["created_at"],
        "Title": kind["title"],
        "Description": kind["description"],
        "Question": load_question(call.connection, hit["hit_id"]) if question else None,
        "Keywords": kind["keywords"] or None,
        "HITStatus": hit["status"],
        "MaxAssignments": hit["max_assignments"],
        "Reward": from_cents(kind["reward_cents"]),
        "AutoApprovalDelayInSeconds": kind["auto_approval_seconds"],
        "Expiration": hit["expires_at"],
        "AssignmentDurationInSeconds": kind["assignment_seconds"],
        "RequesterAnnotation": hit["annotation"],
        "QualificationRequirements": kind["requirements"],
        "HITReviewStatus": hit["review_status"],
        "NumberOfAssignmentsPending": hit["pending"],
        "NumberOfAssignmentsAvailable": available(hit),
        "NumberOfAssignmentsCompleted": hit["approved"] + hit["rejected"],
    }


def load_question(connection: Any, hit_id: str) -> str:
    """Return a HIT's Question XML."""
    query = select(hit_questions.c.body).where(hit_questions.c.hit_id == hit_id)
    return zlib.decompress(connection.execute(query).scalar_one()).decode()


def _refuse_repeated(call: Call, operation: str) -> None:
    target = token_used(call, operation)
    if target is not None:
        raise RequestError("HitAlreadyExists", f'The HIT with ID "{target}" already exists.')


def _publish(call: Call, operation: str, hit_type_id: str) -> dict[str, Any]:
    params = call.params
    _in_range(params, "LifetimeInSeconds", 30, YEAR)
    _in_range(params, "MaxAssignments", 1, MAX_ASSIGNMENTS)
    _within(params, "RequesterAnnotation", 255)
    check_policies(params)
    question = _question(call)
    hit = {
        "hit_id": new_id(),
        "requester_id": call.requester_id,
        "hit_type_id": hit_type_id,
        "layout_id": params.get("HITLayoutId"),
        "annotation": params.get("RequesterAnnotation"),
        "max_assignments": params.get("MaxAssignments", 1),
        "pending": 0,
        "submitted": 0,
        "approved": 0,
        "rejected": 0,
        "status": "Assignable",
        "review_status": "NotReviewed",
        "reviewing": False,
        "hold_cents": 0,
        "assignment_review_policy": params.get("AssignmentReviewPolicy"),
        "hit_review_policy": params.get("HITReviewPolicy"),
        "expiry_seen": False,
        "created_at": call.now,
        "expires_at": call.now + params["LifetimeInSeconds"] * 1000,
        "disposed_at": None,
    }
    cost = sum(call.memory.cost(call.connection, hit))
    require_funds(call, hit["max_assignments"] * cost)
    call.connection.execute(insert(hits).values(**hit))
    body = zlib.compress(question.encode(), 6)
    call.connection.execute(insert(hit_questions).values(hit_id=hit["hit_id"], body=body))
    save_hit(call.connection, call.memory, hit, call.now)
    token_used(call, operation, hit["hit_id"])
    call.memory.note(hit["expires_at"])
    notify(call.connection, "HITCreated", call.now, hit)
    return shape_hit(call, hit)


def _question(call: Call) -> str:
    params = call.params
    if ("Question" in params) == ("HITLayoutId" in params):
        raise ParameterValidationError(
            "Either a Question parameter or a HITLayoutId parameter must be provided, not both.",
            "MissingParameters",
        )
    question: str = params["Question"] if "Question" in params else fill_layout(call)
    parse_question(question)
    return question


def _hit_type(call: Call) -> str:
    params = call.params
    for name, most in (("Title", 128), ("Description", 2000), ("Keywords", 1000)):
        _within(params, name, most)
        if name != "Keywords" and not params[name].strip():
            raise not_valid(params[name], name)
    _in_range(params, "AssignmentDurationInSeconds", 30, YEAR)
    _in_range(params, "AutoApprovalDelayInSeconds", 0, MONTH)
    requirements = check_requirements(call, params.get("QualificationRequirements", []))
    stated = {
        "title": params["Title"],
        "description": params["Description"],
        "keywords": params.get("Keywords", ""),
        "reward_cents": to_cents(params["Reward"]),
        "assignment_seconds": params["AssignmentDurationInSeconds"],
        "auto_approval_seconds": params.get("AutoApprovalDelayInSeconds", MONTH),
        "requirements": requirements,
    }
    fingerprint = sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()
    query = select(hit_types.c.hit_type_id).where(
        hit_types.c.requester_id == call.requester_id, hit_types.c.fingerprint == fingerprint
    )
    known: str | None = call.connection.execute(query).scalar_one_or_none()
    if known is not None:
        return known
    hit_type_id = new_id()
    call.connection.execute(
        insert(hit_types).values(
            hit_type_id=hit_type_id,
            requester_id=call.requester_id,
            group_id=new_id(),
            fingerprint=fingerprint,
            created_at=call.now,
            **stated,
        )
    )
    return hit_type_id


def _own_type(call: Call) -> str:
    hit_type_id: str = call.params["HITTypeId"]
    query = select(hit_types.c.hit_type_id).where(
        hit_types.c.hit_type_id == hit_type_id, hit_types.c.requester_id == call.requester_id
    )
    if call.connection.execute(query).scalar_one_or_none() is None:
        raise does_not_exist("HITType", hit_type_id)
    return hit_type_id


def _require_for_reopening(call: Call, hit: dict[str, Any], moment: int) -> None:
    if hit["expires_at"] <= call.now < moment:
        require_funds(call, available(hit) * sum(call.memory.cost(call.connection, hit)))


def _in_range(params: dict[str, Any], name: str, least: int, most: int) -> None:
    if name in params and not least <= params[name] <= most:
        raise not_valid(params[name], name)


def _within(params: dict[str, Any], name: str, most: int) -> None:
    if len(params.get(name, "")) > most:
        raise ParameterValidationError(
            f"The parameter {name} must not be longer than {most} characters."
        )
