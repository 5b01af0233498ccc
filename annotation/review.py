"""Approve and pay, or reject with a reason, through the ledger: nothing is paid twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pairs_to_words.annotation.mturk import Crowd, CrowdError
from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_value
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.store import ledger
from pairs_to_words.project.store.batches import set_assignment_state, submissions
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.events import log_event
from sqlalchemy import Engine

DONE = {ledger.APPROVE: "Approved", ledger.REJECT: "Rejected"}
FEEDBACK = "Thank you."
MOST_REASON = 1024


@dataclass(frozen=True)
class Waiting:
    """Submissions that wait for a decision.

    Attributes:
        rows: Their rows, oldest first.
        held: How many more are in quarantine and wait for a person.
    """

    rows: list[dict[str, Any]]
    held: int

    @property
    def cost(self) -> Decimal:
        """USD that approving them pays, fees included."""
        return sum(
            (Decimal(r["settings"]["reward"]) + Decimal(r["settings"]["fee"]) for r in self.rows),
            Decimal("0.00"),
        )


def waiting(
    engine: Engine,
    task_name: str,
    *,
    assignment_ids: Sequence[str] = (),
    worker_ids: Sequence[str] = (),
) -> Waiting:
    """Return a task's submissions that wait for review, all or only those named.

    Raises:
        UserError: A named submission or worker has nothing that waits.
    """
    with engine.connect() as connection:
        rows = submissions(connection, task_name, ("Submitted",))
    for name, column, wanted in (
        ("submission", "assignment_id", assignment_ids),
        ("worker", "worker_id", worker_ids),
    ):
        there = {row[column] for row in rows}
        if missing := [value for value in wanted if value not in there]:
            raise UserError(
                f"No submission of task {task_name} waits for review from {name} {missing[0]}.",
                "Fetch the newest with `collect pull`.",
            )
    if assignment_ids or worker_ids:
        named = set(assignment_ids) | set(worker_ids)
        rows = [r for r in rows if r["assignment_id"] in named or r["worker_id"] in named]
        return Waiting(rows, 0)
    good = [row for row in rows if not row["quarantine"]]
    return Waiting(good, len(rows) - len(good))


def review(
    engine: Engine,
    crowd: Crowd,
    task_name: str,
    rows: Sequence[dict[str, Any]],
    kind: str,
    clock: Clock,
    *,
    reason: str = "",
    progress: Progress = no_progress,
) -> dict[str, int]:
    """Approve or reject submissions.

    Each decision is a ledger entry before its call. A submission that the crowd has reviewed
    already (by an earlier run whose reply was lost, or by itself) keeps that state.

    Args:
        engine: The project's state.
        crowd: Where they were submitted.
        task_name: The task.
        rows: From `waiting`.
        kind: `approve` or `reject`.
        clock: The time.
        reason: What the worker reads; needed to reject.
        progress: Shows one step per submission.

    Returns:
        Counts `approved`, `rejected` and `already` (decided before, either way).

    Raises:
        UserError: A rejection without reason, or submissions of another crowd.
    """
    if kind == ledger.REJECT and not reason.strip():
        raise UserError("A rejection needs a reason that the worker can read.", "Give `--reason`.")
    if len(reason) > MOST_REASON:
        raise UserError(f"The reason is longer than {MOST_REASON} characters.")
    _refuse_other_crowd(crowd, rows)
    at = iso(clock())
    with transaction(engine) as connection:
        ledger.intend(connection, [_entry(row, kind, at) for row in rows])
    counts = {"approved": 0, "rejected": 0, "already": 0}
    with progress(f"{kind} {task_name}", total=len(rows), unit="submission") as advance:
        for row in rows:
            counts[_decide(engine, crowd, row, kind, reason, clock)] += 1
            advance(1)
    with transaction(engine) as connection:
        log_event(connection, iso(clock()), "reviewed", task_name, **counts)
    return counts


def _entry(row: dict[str, Any], kind: str, at: str) -> dict[str, Any]:
    pays = kind == ledger.APPROVE
    return {
        "entry_id": f"{kind}:{row['assignment_id']}",
        "kind": kind,
        "target": row["assignment_id"],
        "batch_id": row["batch_id"],
        "amount": Decimal(row["settings"]["reward"]) if pays else Decimal(0),
        "fee": Decimal(row["settings"]["fee"]) if pays else Decimal(0),
        "token": hash_value([kind, row["assignment_id"]]),
        "intended_at": at,
    }


def _decide(
    engine: Engine, crowd: Crowd, row: dict[str, Any], kind: str, reason: str, clock: Clock
) -> str:
    assignment_id = row["assignment_id"]
    entry_id = f"{kind}:{assignment_id}"
    with transaction(engine) as connection:
        ledger.set_state(connection, entry_id, ledger.SENT, iso(clock()))
    outcome = DONE[kind].lower()
    state = DONE[kind]
    try:
        _call(crowd, assignment_id, kind, reason)
    except CrowdError as error:
        if error.code != "InvalidAssignmentState":
            raise
        found = crowd.call("get_assignment", AssignmentId=assignment_id)["Assignment"]
        state = str(found["AssignmentStatus"])
        outcome = "already"
    settled = ledger.CONFIRMED if state == DONE[kind] else ledger.FAILED
    with transaction(engine) as connection:
        at = iso(clock())
        set_assignment_state(connection, assignment_id, state, at)
        ledger.set_state(connection, entry_id, settled, at, state)
    return outcome


def _call(crowd: Crowd, assignment_id: str, kind: str, reason: str) -> None:
    if kind == ledger.APPROVE:
        feedback = reason or FEEDBACK
        crowd.call("approve_assignment", AssignmentId=assignment_id, RequesterFeedback=feedback)
    else:
        crowd.call("reject_assignment", AssignmentId=assignment_id, RequesterFeedback=reason)


def _refuse_other_crowd(crowd: Crowd, rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        if (row["crowd"], row["endpoint"]) != (crowd.name, crowd.endpoint):
            raise UserError(
                f"Submission {row['assignment_id']} came from the crowd {row['crowd']} "
                f"({row['endpoint']}).",
                f"Review it there: `--crowd {row['crowd']}`.",
            )
