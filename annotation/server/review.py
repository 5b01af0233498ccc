"""What becomes of submitted work: approve and pay, reject, and pay bonuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairs_to_words.annotation.money import bonus_fee, from_cents, to_cents
from pairs_to_words.annotation.server.faults import (
    ParameterValidationError,
    RequestError,
    does_not_exist,
    not_valid,
    wrong_state,
)
from pairs_to_words.annotation.server.hit_operations import shape_hit
from pairs_to_words.annotation.server.hit_state import find_hit, load_hit, move
from pairs_to_words.annotation.server.memory import Call, Memory
from pairs_to_words.annotation.server.notifications import notify
from pairs_to_words.annotation.server.paging import page
from pairs_to_words.annotation.server.requester import book, require_funds, token_used
from pairs_to_words.annotation.server.tables import assignments, bonuses, hits, workers
from pairs_to_words.annotation.server.work import Assignment, find_assignment
from sqlalchemy import Connection, insert, select, update

REVIEWED = ("Submitted", "Approved", "Rejected")
MOST_FEEDBACK = 1024
OVERRIDE_MS = 30 * 86_400_000
BONUS_MS = 180 * 86_400_000
"""A bonus needs an assignment of the last six months."""


def get_assignment(call: Call) -> dict[str, Any]:
    """Return a submitted assignment and its HIT."""
    assignment, hit = own_assignment(call)
    if assignment["state"] not in REVIEWED:
        raise wrong_state("Assignment", "Reviewable,Approved,Rejected")
    return {"Assignment": shape_assignment(assignment), "HIT": shape_hit(call, hit)}


def list_assignments(call: Call) -> dict[str, Any]:
    """Return a HIT's submitted assignments, in the order in which they were accepted."""
    hit = find_hit(call.connection, call.requester_id, call.params["HITId"])
    states = call.params.get("AssignmentStatuses") or REVIEWED
    query = select(assignments).where(
        assignments.c.hit_id == hit["hit_id"], assignments.c.state.in_(states)
    )
    return page(call, query, assignments.c.seq, "Assignments", shape_assignment)


def approve_assignment(call: Call) -> dict[str, Any]:
    """Approve and pay an assignment; with OverrideRejection also one rejected before."""
    _check_feedback(call)
    assignment, hit = own_assignment(call)
    override = call.params.get("OverrideRejection", False)
    state = assignment["state"]
    if state == "Rejected" and override:
        if call.now - assignment["submitted_at"] > OVERRIDE_MS:
            raise RequestError(
                "InvalidAssignmentState",
                "A rejection can be overridden within 30 days after the assignment was submitted.",
            )
        require_funds(call, sum(call.memory.cost(call.connection, hit)))
    elif state != "Submitted":
        allowed = "Submitted, Rejected" if override else "Submitted"
        raise wrong_state("Assignment", allowed)
    feedback = call.params.get("RequesterFeedback")
    pay(call.connection, call.memory, hit, assignment, call.now, feedback)
    return {}


def reject_assignment(call: Call) -> dict[str, Any]:
    """Reject an assignment with a reason; nothing is paid."""
    _check_feedback(call)
    assignment, hit = own_assignment(call)
    if assignment["state"] != "Submitted":
        raise wrong_state("Assignment", "Submitted")
    refuse(
        call.connection,
        call.memory,
        hit,
        assignment,
        call.now,
        call.params["RequesterFeedback"],
    )
    return {}


def pay(
    connection: Connection,
    memory: Memory,
    hit: dict[str, Any],
    assignment: Assignment,
    now: int,
    feedback: str | None,
) -> None:
    """Approve an assignment: its state, the counts, and the money in one transaction."""
    old = assignment["state"]
    changes = {"state": "Approved", "approved_at": now, "rejected_at": None}
    if feedback is not None:
        changes["feedback"] = feedback
    _review(connection, memory, hit, assignment, changes, now)
    if old == "Rejected":
        _count(connection, assignment["worker_id"], "rejected", -1)
    reward, fee = memory.cost(connection, hit)
    subject = assignment["assignment_id"]
    book(connection, hit["requester_id"], now, "reward", -reward, subject)
    book(connection, hit["requester_id"], now, "fee", -fee, subject)


def refuse(
    connection: Connection,
    memory: Memory,
    hit: dict[str, Any],
    assignment: Assignment,
    now: int,
    feedback: str,
) -> None:
    """Reject an assignment: its state and the counts."""
    changes = {"state": "Rejected", "rejected_at": now, "feedback": feedback}
    _review(connection, memory, hit, assignment, changes, now)


def send_bonus(call: Call) -> dict[str, Any]:
    """Pay a bonus for an assignment to the worker who did it."""
    amount = to_cents(call.params["BonusAmount"])
    repeated = token_used(call, "SendBonus")
    if repeated is not None:
        raise RequestError("HitAlreadyExists", f'The request with ID "{repeated}" already exists.')
    if amount < 1:
        raise not_valid(call.params["BonusAmount"], "BonusAmount")
    if not call.params["Reason"].strip():
        raise not_valid(call.params["Reason"], "Reason")
    assignment, hit = own_assignment(call)
    if assignment["worker_id"] != call.params["WorkerId"]:
        raise not_valid(call.params["WorkerId"], "WorkerId")
    if assignment["state"] not in REVIEWED:
        raise wrong_state("Assignment", "Submitted, Approved, Rejected")
    if call.now - assignment["submitted_at"] > BONUS_MS:
        raise RequestError(
            "InvalidAssignmentState", "The assignment was submitted more than six months ago."
        )
    fee = bonus_fee(amount)
    require_funds(call, amount + fee)
    book(
        call.connection, call.requester_id, call.now, "bonus", -amount, assignment["assignment_id"]
    )
    book(call.connection, call.requester_id, call.now, "fee", -fee, assignment["assignment_id"])
    call.connection.execute(
        insert(bonuses).values(
            requester_id=call.requester_id,
            worker_id=assignment["worker_id"],
            assignment_id=assignment["assignment_id"],
            hit_id=hit["hit_id"],
            amount_cents=amount,
            fee_cents=fee,
            reason=call.params["Reason"],
            granted_at=call.now,
        )
    )
    token_used(call, "SendBonus", assignment["assignment_id"])
    return {}


def list_bonus_payments(call: Call) -> dict[str, Any]:
    """Return the bonuses paid for a HIT or for an assignment."""
    params = call.params
    if ("HITId" in params) == ("AssignmentId" in params):
        raise ParameterValidationError(
            "Either a HITId parameter or an AssignmentId parameter must be provided, not both.",
            "MissingParameters",
        )
    if "HITId" in params:
        find_hit(call.connection, call.requester_id, params["HITId"])
        query = select(bonuses).where(bonuses.c.hit_id == params["HITId"])
    else:
        own_assignment(call)
        query = select(bonuses).where(bonuses.c.assignment_id == params["AssignmentId"])
    return page(call, query, bonuses.c.seq, "BonusPayments", _shape_bonus)


def shape_assignment(assignment: Mapping[str, Any]) -> dict[str, Any]:
    """Return an assignment as the service shows it."""
    return {
        "AssignmentId": assignment["assignment_id"],
        "WorkerId": assignment["worker_id"],
        "HITId": assignment["hit_id"],
        "AssignmentStatus": assignment["state"],
        "AutoApprovalTime": assignment["auto_approval_at"],
        "AcceptTime": assignment["accepted_at"],
        "SubmitTime": assignment["submitted_at"],
        "ApprovalTime": assignment["approved_at"],
        "RejectionTime": assignment["rejected_at"],
        "Deadline": assignment["deadline_at"],
        "Answer": assignment["answer"],
        "RequesterFeedback": assignment["feedback"],
    }


def _shape_bonus(bonus: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "WorkerId": bonus["worker_id"],
        "BonusAmount": from_cents(bonus["amount_cents"]),
        "AssignmentId": bonus["assignment_id"],
        "Reason": bonus["reason"],
        "GrantTime": bonus["granted_at"],
    }


def _review(
    connection: Connection,
    memory: Memory,
    hit: dict[str, Any],
    assignment: Assignment,
    changes: dict[str, Any],
    now: int,
) -> None:
    old, new = assignment["state"], changes["state"]
    assignment |= changes
    connection.execute(
        update(assignments)
        .where(assignments.c.assignment_id == assignment["assignment_id"])
        .values(**changes)
    )
    _count(connection, assignment["worker_id"], new.lower(), 1)
    move(connection, memory, hit, now, old, new)
    notify(connection, f"Assignment{new}", now, hit, assignment["assignment_id"])


def own_assignment(call: Call) -> tuple[Assignment, dict[str, Any]]:
    """Return the call's assignment and its HIT.

    Raises:
        RequestError: There is none, it is another requester's, or its HIT is disposed.
    """
    assignment_id = call.params["AssignmentId"]
    assignment = find_assignment(call.connection, assignment_id)
    if assignment is not None:
        owner = select(hits.c.requester_id).where(hits.c.hit_id == assignment["hit_id"])
        if call.connection.execute(owner).scalar_one() == call.requester_id:
            hit = load_hit(call.connection, assignment["hit_id"])
            if hit["status"] != "Disposed":
                return assignment, hit
    raise does_not_exist("Assignment", assignment_id)


def _check_feedback(call: Call) -> None:
    if len(call.params.get("RequesterFeedback", "")) > MOST_FEEDBACK:
        raise ParameterValidationError(
            f"The parameter RequesterFeedback must not be longer than {MOST_FEEDBACK} characters."
        )


def _count(connection: Connection, worker_id: str, count: str, change: int) -> None:
    column = workers.c[count]
    connection.execute(
        update(workers).where(workers.c.worker_id == worker_id).values({column: column + change})
    )
