"""What workers do to assignments: accept, submit, return, and run out of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pairs_to_words.annotation.server.answers import answers_xml
from pairs_to_words.annotation.server.hit_state import load_hit, move
from pairs_to_words.annotation.server.ids import new_completion_code, new_id
from pairs_to_words.annotation.server.memory import Memory
from pairs_to_words.annotation.server.notifications import notify
from pairs_to_words.annotation.server.requirements import is_blocked, load_worker, may
from pairs_to_words.annotation.server.tables import (
    assignments,
    drafts,
    hits,
    late_submissions,
    workers,
)
from sqlalchemy import Connection, bindparam, delete, exists, func, insert, select, update

Assignment = dict[str, Any]

MOST_IN_HAND = 25
"""Assignments one worker can have accepted at a time, as on the real site."""

ENDED = ("Returned", "Abandoned")
_LIVE = assignments.c.state.not_in(ENDED)

# Statements of every accept and submit are built once: building costs more than running them.
_NEXT_HIT = (
    select(hits)
    .where(
        hits.c.hit_type_id == bindparam("kind"),
        hits.c.status == "Assignable",
        hits.c.expires_at > bindparam("now"),
        ~exists()
        .where(
            assignments.c.hit_id == hits.c.hit_id,
            assignments.c.worker_id == bindparam("worker"),
            _LIVE,
        )
        .correlate(hits),
    )
    .order_by(hits.c.seq)
    .limit(1)
)
_FIND = select(assignments).where(assignments.c.assignment_id == bindparam("wanted"))
_ADD = insert(assignments)
_CHANGE = update(assignments).where(assignments.c.assignment_id == bindparam("wanted"))
_FORGET_DRAFT = delete(drafts).where(drafts.c.assignment_id == bindparam("wanted"))
_COUNT = {
    name: update(workers)
    .where(workers.c.worker_id == bindparam("wanted"))
    .values({workers.c[name]: workers.c[name] + 1})
    for name in ("accepted", "submitted", "returned", "abandoned")
}


class Refused(Exception):
    """The worker cannot do that; the message is a sentence for the worker.

    Args:
        message: What and why.
        status: The HTTP status that says the same to a program.
    """

    def __init__(self, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.status = status


class Late(Refused):
    """The answer came after the assignment was over; the caller keeps it aside."""


@dataclass(frozen=True)
class Receipt:
    """What a submit came to.

    Attributes:
        assignment_id: The assignment.
        state: Its state now.
        submitted_at: When its answer arrived (ms).
        repeated: The answer was there already; the first one stays.
        completion_code: What a panel's worker types in there.
    """

    assignment_id: str
    state: str
    submitted_at: int
    repeated: bool
    completion_code: str


def accept_from_group(
    connection: Connection, memory: Memory, worker_id: str, group: Mapping[str, Any], now: int
) -> Assignment:
    """Give a worker the oldest HIT of a type that the worker has not done.

    Raises:
        Refused: None is left, or the worker may not accept it.
    """
    wanted = {"kind": group["hit_type_id"], "now": now, "worker": worker_id}
    hit = connection.execute(_NEXT_HIT, wanted).mappings().one_or_none()
    if hit is None:
        raise Refused("There are no more tasks of this kind for you.")
    return _accept(connection, memory, worker_id, dict(hit), now)


def accept_hit(
    connection: Connection, memory: Memory, worker_id: str, hit_id: str, now: int
) -> Assignment:
    """Give a worker one particular HIT.

    Raises:
        Refused: It is not there, taken, done by this worker before, or not open to the worker.
    """
    query = select(hits).where(hits.c.hit_id == hit_id)
    hit = connection.execute(query).mappings().one_or_none()
    if hit is None:
        raise Refused("There is no such task.", 404)
    if hit["status"] != "Assignable" or hit["expires_at"] <= now:
        raise Refused("This task is not available any more.")
    done = select(assignments.c.seq).where(
        assignments.c.hit_id == hit_id, assignments.c.worker_id == worker_id, _LIVE
    )
    if connection.execute(done).first() is not None:
        raise Refused("You have done this task already; each worker can do it once.")
    return _accept(connection, memory, worker_id, dict(hit), now)


def _accept(
    connection: Connection, memory: Memory, worker_id: str, hit: dict[str, Any], now: int
) -> Assignment:
    kind = memory.hit_type(connection, hit["hit_type_id"])
    worker = load_worker(connection, worker_id)
    if worker is None:
        raise Refused("Sign in again with your invitation link.", 401)
    if is_blocked(connection, hit["requester_id"], worker_id):
        raise Refused("The requester of this task does not accept your work.", 403)
    if may(connection, memory, worker, kind, "Accept"):
        raise Refused("This task needs a qualification that you do not have.", 403)
    in_hand = worker["accepted"] - sum(
        worker[count] for count in ("submitted", "returned", "abandoned")
    )
    if in_hand >= MOST_IN_HAND:
        raise Refused(f"You have {in_hand} tasks in hand. Submit or return one first.")
    deadline = now + kind["assignment_seconds"] * 1000
    assignment = {
        "assignment_id": new_id(),
        "hit_id": hit["hit_id"],
        "worker_id": worker_id,
        "state": "Accepted",
        "accepted_at": now,
        "deadline_at": deadline,
        "return_reason": "",
    }
    connection.execute(_ADD, assignment)
    _count(connection, worker_id, "accepted")
    move(connection, memory, hit, now, "", "Accepted")
    memory.note(deadline)
    notify(connection, "AssignmentAccepted", now, hit, assignment["assignment_id"])
    return assignment


def submit(
    connection: Connection,
    memory: Memory,
    assignment_id: str,
    fields: Sequence[tuple[str, str]],
    now: int,
) -> Receipt:
    """Take an answer in. A repeat changes nothing and says so.

    Raises:
        Late: The assignment is over; the caller keeps the answer with `keep_late`.
        Refused: There is no such assignment.
    """
    assignment = find_assignment(connection, assignment_id)
    if assignment is None:
        raise Refused("There is no such assignment.", 404)
    if assignment["state"] in ENDED:
        raise Late("This assignment is over. What you sent was kept; write to the requester.")
    if assignment["state"] != "Accepted":
        return _receipt(assignment, repeated=True)
    hit = load_hit(connection, assignment["hit_id"])
    kind = memory.hit_type(connection, hit["hit_type_id"])
    due = now + kind["auto_approval_seconds"] * 1000
    changes = {
        "state": "Submitted",
        "submitted_at": now,
        "auto_approval_at": due,
        "answer": answers_xml(fields),
        "completion_code": new_completion_code(),
    }
    _change(connection, assignment, changes)
    connection.execute(_FORGET_DRAFT, {"wanted": assignment_id})
    _count(connection, assignment["worker_id"], "submitted")
    move(connection, memory, hit, now, "Accepted", "Submitted")
    memory.note(due)
    notify(connection, "AssignmentSubmitted", now, hit, assignment_id)
    if hit["assignment_review_policy"]:
        from pairs_to_words.annotation.server.known_answers import run_assignment_policy

        run_assignment_policy(connection, memory, hit, assignment, now)
    return _receipt(assignment, repeated=False)


def keep_late(
    connection: Connection, assignment_id: str, fields: Sequence[tuple[str, str]], now: int
) -> None:
    """Keep an answer that came after its assignment was over: nothing a worker sent is lost."""
    connection.execute(
        insert(late_submissions).values(
            assignment_id=assignment_id, received_at=now, answer=answers_xml(fields)
        )
    )


def give_back(
    connection: Connection, memory: Memory, worker_id: str, assignment_id: str, why: str, now: int
) -> None:
    """Return an assignment without penalty; someone else can accept the HIT.

    Raises:
        Refused: It is not this worker's, or it is not in hand.
    """
    assignment = find_assignment(connection, assignment_id)
    if assignment is None or assignment["worker_id"] != worker_id:
        raise Refused("There is no such assignment.", 404)
    if assignment["state"] == "Returned":
        return
    if assignment["state"] != "Accepted":
        raise Refused("This assignment is not in your hands any more.")
    _end(connection, memory, assignment, "Returned", now, why)


def abandon(connection: Connection, memory: Memory, assignment: Assignment, now: int) -> None:
    """Take an assignment back after its deadline."""
    _end(connection, memory, assignment, "Abandoned", now, "")


def _end(
    connection: Connection, memory: Memory, assignment: Assignment, state: str, now: int, why: str
) -> None:
    _change(connection, assignment, {"state": state, "ended_at": now, "return_reason": why[:1024]})
    _count(connection, assignment["worker_id"], state.lower())
    hit = load_hit(connection, assignment["hit_id"])
    move(connection, memory, hit, now, "Accepted", state)
    notify(connection, f"Assignment{state}", now, hit, assignment["assignment_id"])


def find_assignment(connection: Connection, assignment_id: str) -> Assignment | None:
    """Return an assignment by id, None when there is none."""
    row = connection.execute(_FIND, {"wanted": assignment_id}).mappings().one_or_none()
    return None if row is None else dict(row)


def done_by(connection: Connection, worker_id: str) -> dict[str, int]:
    """Return for each HIT type how many Assignable HITs a worker holds or has done."""
    query = (
        select(hits.c.hit_type_id, func.count())
        .join(assignments, assignments.c.hit_id == hits.c.hit_id)
        .where(assignments.c.worker_id == worker_id, _LIVE, hits.c.status == "Assignable")
        .group_by(hits.c.hit_type_id)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def _change(connection: Connection, assignment: Assignment, changes: dict[str, Any]) -> None:
    assignment |= changes
    connection.execute(_CHANGE, {"wanted": assignment["assignment_id"], **changes})


def _count(connection: Connection, worker_id: str, count: str) -> None:
    connection.execute(_COUNT[count], {"wanted": worker_id})


def _receipt(assignment: Assignment, *, repeated: bool) -> Receipt:
    return Receipt(
        assignment["assignment_id"],
        assignment["state"],
        assignment["submitted_at"],
        repeated,
        assignment["completion_code"] or "",
    )
