"""Fetch new submissions: incremental, repeatable, and one bad answer never stops a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pairs_to_words.annotation.answers import Unreadable, parse_answer
from pairs_to_words.annotation.mturk import Crowd
from pairs_to_words.annotation.readings import read_item
from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.protocol import Task
from pairs_to_words.project.records import SIMULATED_WORKER_PREFIX, Judgment
from pairs_to_words.project.store.batches import (
    PUBLISHED,
    add_assignment,
    add_workers,
    assignment_states,
    hits_of,
    set_assignment_state,
)
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.events import log_event
from pairs_to_words.project.store.judgments import add_judgments
from sqlalchemy import Connection, Engine

REVIEWED = ("Approved", "Rejected")


def pull(
    engine: Engine,
    crowd: Crowd,
    task_name: str,
    task: Task,
    clock: Clock,
    progress: Progress = no_progress,
) -> dict[str, int]:
    """Fetch what the crowd submitted for a task since the last pull.

    Returns:
        Counts `hits` (looked at), `new` submissions, `judgments`, `quarantined`, `reviewed`
        (submissions whose state changed on the crowd's side).
    """
    with engine.connect() as connection:
        hits = hits_of(connection, task_name, (PUBLISHED,))
        known = assignment_states(connection, [hit["hit_id"] for hit in hits])
    _refuse_other_crowd(crowd, hits)
    open_hits = [hit for hit in hits if not _complete(hit, known[hit["hit_id"]])]
    counts = {"hits": len(open_hits), "new": 0, "judgments": 0, "quarantined": 0, "reviewed": 0}
    with progress(f"pull {task_name}", total=len(open_hits), unit="HIT") as advance:
        for hit in open_hits:
            found = list(
                crowd.pages("list_assignments_for_hit", "Assignments", HITId=hit["hit_id"])
            )
            with transaction(engine) as connection:
                _store(connection, task_name, task, hit, found, known[hit["hit_id"]], counts)
            advance(1)
    if counts["new"] or counts["reviewed"]:
        with transaction(engine) as connection:
            log_event(connection, iso(clock()), "pulled", task_name, **counts)
    return counts


def _complete(hit: Mapping[str, Any], known: Mapping[str, str]) -> bool:
    done = sum(state in REVIEWED for state in known.values())
    return done >= int(hit["max_assignments"])


def _store(
    connection: Connection,
    task_name: str,
    task: Task,
    hit: Mapping[str, Any],
    found: Sequence[Mapping[str, Any]],
    known: Mapping[str, str],
    counts: dict[str, int],
) -> None:
    position = len(known)
    for assignment in sorted(found, key=lambda a: (a["SubmitTime"], a["AssignmentId"])):
        assignment_id = assignment["AssignmentId"]
        state = assignment["AssignmentStatus"]
        if assignment_id in known:
            if known[assignment_id] != state:
                set_assignment_state(connection, assignment_id, state, _reviewed_at(assignment))
                counts["reviewed"] += 1
            continue
        judgments, trouble = _read(task_name, task, hit, assignment, position)
        add_workers(connection, [_worker(assignment)])
        add_assignment(connection, _row(assignment, trouble))
        counts["judgments"] += add_judgments(connection, judgments)
        counts["new"] += 1
        counts["quarantined"] += bool(trouble)
        position += 1


def _read(
    task_name: str,
    task: Task,
    hit: Mapping[str, Any],
    assignment: Mapping[str, Any],
    position: int,
) -> tuple[list[Judgment], str]:
    """Return the judgments of a submission, or none and what is wrong with it."""
    item_ids = hit["item_ids"]
    seconds = (assignment["SubmitTime"] - assignment["AcceptTime"]).total_seconds()
    try:
        fields = parse_answer(assignment.get("Answer", ""))
        readings = [read_item(task, fields, i) for i in range(len(item_ids))]
    except Unreadable as error:
        return [], str(error)
    worker_id = assignment["WorkerId"]
    return [
        Judgment(
            task=task_name,
            item_id=item_id,
            field=field,
            worker_id=worker_id,
            value=value,
            position=position,
            assignment_id=assignment["AssignmentId"],
            submitted_at=iso(assignment["SubmitTime"]),
            work_seconds=round(seconds / len(item_ids), 3),
            simulated=worker_id.startswith(SIMULATED_WORKER_PREFIX),
            telemetry=reading.telemetry,
        )
        for item_id, reading in zip(item_ids, readings, strict=True)
        for field, value in reading.values.items()
    ], ""


def _row(assignment: Mapping[str, Any], trouble: str) -> dict[str, Any]:
    due = assignment.get("AutoApprovalTime")
    return {
        "assignment_id": assignment["AssignmentId"],
        "hit_id": assignment["HITId"],
        "worker_id": assignment["WorkerId"],
        "state": assignment["AssignmentStatus"],
        "accepted_at": iso(assignment["AcceptTime"]),
        "submitted_at": iso(assignment["SubmitTime"]),
        "auto_approval_at": iso(due) if due else "",
        "reviewed_at": _reviewed_at(assignment),
        "answer": assignment.get("Answer", ""),
        "quarantine": trouble,
    }


def _worker(assignment: Mapping[str, Any]) -> dict[str, Any]:
    worker_id = assignment["WorkerId"]
    return {
        "worker_id": worker_id,
        "simulated": worker_id.startswith(SIMULATED_WORKER_PREFIX),
        "first_seen_at": iso(assignment["SubmitTime"]),
        "state": "active",
        "note": "",
    }


def _reviewed_at(assignment: Mapping[str, Any]) -> str:
    moment = assignment.get("ApprovalTime") or assignment.get("RejectionTime")
    return iso(moment) if moment else ""


def _refuse_other_crowd(crowd: Crowd, hits: Sequence[Mapping[str, Any]]) -> None:
    for hit in hits:
        if (hit["crowd"], hit["endpoint"]) != (crowd.name, crowd.endpoint):
            raise UserError(
                f"Batch {hit['batch_id']} is on the crowd {hit['crowd']} ({hit['endpoint']}).",
                f"Pull it from there: `--crowd {hit['crowd']}`.",
            )
