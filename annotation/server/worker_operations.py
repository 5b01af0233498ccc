"""Operations on workers: blocks and messages."""

from __future__ import annotations

from typing import Any

from pairs_to_words.annotation.server.faults import ParameterValidationError, not_valid
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.paging import page
from pairs_to_words.annotation.server.requirements import load_worker
from pairs_to_words.annotation.server.tables import assignments, hits, messages, worker_blocks
from sqlalchemy import delete, func, insert, select, update

MOST_BLOCKS = 100_000
MOST_RECIPIENTS = 100
MOST_SUBJECT = 200
MOST_TEXT = 4096


def create_worker_block(call: Call) -> dict[str, Any]:
    """Keep a worker from the requester's HITs; a second block replaces the reason."""
    require_worker(call)
    connection, worker_id = call.connection, call.params["WorkerId"]
    mine = worker_blocks.c.requester_id == call.requester_id
    changed = connection.execute(
        update(worker_blocks)
        .where(mine, worker_blocks.c.worker_id == worker_id)
        .values(reason=call.params["Reason"])
    )
    if changed.rowcount:
        return {}
    count = connection.execute(select(func.count()).select_from(worker_blocks).where(mine))
    if count.scalar_one() >= MOST_BLOCKS:
        raise ParameterValidationError(f"You can block up to {MOST_BLOCKS} Workers.")
    connection.execute(
        insert(worker_blocks).values(
            requester_id=call.requester_id,
            worker_id=worker_id,
            reason=call.params["Reason"],
            created_at=call.now,
        )
    )
    return {}


def delete_worker_block(call: Call) -> dict[str, Any]:
    """Let a blocked worker in again; a worker who is not blocked is no error."""
    require_worker(call)
    call.connection.execute(
        delete(worker_blocks).where(
            worker_blocks.c.requester_id == call.requester_id,
            worker_blocks.c.worker_id == call.params["WorkerId"],
        )
    )
    return {}


def list_worker_blocks(call: Call) -> dict[str, Any]:
    """Return the requester's blocks."""
    query = select(worker_blocks).where(worker_blocks.c.requester_id == call.requester_id)
    return page(
        call,
        query,
        worker_blocks.c.seq,
        "WorkerBlocks",
        lambda row: {"WorkerId": row["worker_id"], "Reason": row["reason"]},
    )


def notify_workers(call: Call) -> dict[str, Any]:
    """Put a message into workers' mailboxes; those it may not reach are reported one by one."""
    params = call.params
    recipients = list(dict.fromkeys(params["WorkerIds"]))
    if not 1 <= len(recipients) <= MOST_RECIPIENTS:
        raise ParameterValidationError(f"You can notify 1 to {MOST_RECIPIENTS} Workers at a time.")
    for name, most in (("Subject", MOST_SUBJECT), ("MessageText", MOST_TEXT)):
        if not params[name].strip() or len(params[name]) > most:
            raise ParameterValidationError(
                f"The parameter {name} must have 1 to {most} characters."
            )
    failures = []
    for worker_id in recipients:
        if not _has_reviewed(call, worker_id):
            failures.append(
                {
                    "NotifyWorkersFailureCode": "HardFailure",
                    "NotifyWorkersFailureMessage": (
                        f"We can't send a notification to the Worker {worker_id} because you have "
                        "not approved or rejected work from this Worker."
                    ),
                    "WorkerId": worker_id,
                }
            )
            continue
        send_message(call, worker_id, params["Subject"], params["MessageText"])
    return {"NotifyWorkersFailureStatuses": failures}


def send_message(call: Call, worker_id: str, subject: str, body: str) -> None:
    """Put one message into one worker's mailbox."""
    call.connection.execute(
        insert(messages).values(
            worker_id=worker_id,
            requester_id=call.requester_id,
            subject=subject,
            body=body,
            sent_at=call.now,
        )
    )


def require_worker(call: Call) -> None:
    """Refuse a WorkerId that this server never gave.

    Raises:
        ParameterValidationError: In the service's words.
    """
    if load_worker(call.connection, call.params["WorkerId"]) is None:
        raise not_valid(call.params["WorkerId"], "WorkerId")


def _has_reviewed(call: Call, worker_id: str) -> bool:
    query = (
        select(assignments.c.seq)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .where(
            assignments.c.worker_id == worker_id,
            assignments.c.state.in_(("Approved", "Rejected")),
            hits.c.requester_id == call.requester_id,
        )
        .limit(1)
    )
    return call.connection.execute(query).first() is not None
