"""The requester's pages: people and their invitations, submissions and review, spending."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pairs_to_words.annotation.server.admin import requester_session
from pairs_to_words.annotation.server.answers import answer_pairs
from pairs_to_words.annotation.server.body import read_fields
from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.faults import ServiceError
from pairs_to_words.annotation.server.frames import origin_of
from pairs_to_words.annotation.server.hit_operations import load_question
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.pages import render
from pairs_to_words.annotation.server.questions import parse_question
from pairs_to_words.annotation.server.review import approve_assignment, reject_assignment
from pairs_to_words.annotation.server.sessions import PERSON, check_csrf, invite
from pairs_to_words.annotation.server.site_tasks import MOST_FORM, crowd_of, go
from pairs_to_words.annotation.server.tables import (
    account_entries,
    assignments,
    bonuses,
    hit_types,
    hits,
    workers,
)
from pairs_to_words.annotation.server.work import Refused
from sqlalchemy import Connection, func, select
from starlette.requests import Request
from starlette.responses import Response

SHOWN = 50
MOST_INVITED = 200

_PHOTO = re.compile(r"/photos/[0-9a-f]{64}")


async def people(request: Request) -> Response:
    """Everybody who can work here; a form that invites more."""
    crowd = crowd_of(request)
    session = await requester_session(crowd, request)
    made: list[dict[str, str]] = []
    if request.method == "POST":
        fields = await read_fields(request, MOST_FORM)
        check_csrf(request, session, fields)
        names = dict(fields).get("names", "").splitlines()
        made = await _invite(crowd, request, names)
    rows = await crowd.read(lambda connection, _now: _workers(connection))
    return render("requester_people.html", title="People", session=session, rows=rows, made=made)


async def _invite(crowd: Crowd, request: Request, names: Sequence[str]) -> list[dict[str, str]]:
    labels = list(dict.fromkeys(name.strip()[:255] for name in names if name.strip()))
    if not 1 <= len(labels) <= MOST_INVITED:
        raise Refused(f"Give 1 to {MOST_INVITED} names, one on each line.", 400)

    def work(connection: Connection, now: int) -> list[tuple[str, str]]:
        return [invite(connection, now, kind=PERSON, label=label) for label in labels]

    made = await crowd.write(work)
    return [
        {"label": label, "worker_id": worker_id, "url": f"{origin_of(request)}/invite/{token}"}
        for label, (worker_id, token) in zip(labels, made, strict=True)
    ]


def _workers(connection: Connection) -> list[dict[str, Any]]:
    spent = assignments.c.submitted_at - assignments.c.accepted_at
    times = (
        select(assignments.c.worker_id, func.sum(spent).label("milliseconds"))
        .group_by(assignments.c.worker_id)
        .subquery()
    )
    query = (
        select(workers, times.c.milliseconds)
        .outerjoin(times, times.c.worker_id == workers.c.worker_id)
        .order_by(workers.c.kind, workers.c.label)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


async def submissions(request: Request) -> Response:
    """What waits for review, or was reviewed, with the answers beside the images."""
    crowd = crowd_of(request)
    session = await requester_session(crowd, request)
    state = request.query_params.get("state", "Submitted")
    if state not in ("Submitted", "Approved", "Rejected"):
        state = "Submitted"
    rows = await crowd.read(lambda connection, _now: _submissions(connection, state))
    return render(
        "requester_submissions.html",
        title="Submissions",
        session=session,
        rows=rows,
        state=state,
        words=request.query_params.get("words", ""),
    )


def _submissions(connection: Connection, state: str) -> list[dict[str, Any]]:
    query = (
        select(assignments, hit_types.c.title, hit_types.c.reward_cents, workers.c.label)
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(hit_types, hit_types.c.hit_type_id == hits.c.hit_type_id)
        .join(workers, workers.c.worker_id == assignments.c.worker_id)
        .where(assignments.c.state == state, hits.c.status != "Disposed")
        .order_by(assignments.c.submitted_at)
        .limit(SHOWN)
    )
    rows = [dict(row) for row in connection.execute(query).mappings()]
    for row in rows:
        row["items"] = _beside(load_question(connection, row["hit_id"]), row["answer"])
        row["seconds"] = (row["submitted_at"] - row["accepted_at"]) / 1000
    return rows


def _beside(question_xml: str, answer: str) -> list[dict[str, Any]]:
    """Return photos and answers item by item.

    Our pages name their fields `<place>.<field>` and list their items; of other pages all photos
    and all answers are one item.
    """
    question = parse_question(question_xml)
    answers = answer_pairs(answer)
    found = re.search(r'id="items">(.*?)</script>', question.content, re.DOTALL)
    if found is None:
        photos = list(dict.fromkeys(_PHOTO.findall(question.content)))[:8]
        return [{"photos": photos, "answers": answers, "text": ""}]
    try:
        listed = json.loads(found[1])
    except ValueError:
        listed = []
    return [
        {
            "photos": [f"/photos/{item[k]}" for k in ("sha256_1", "sha256_2") if k in item],
            "text": str(item.get("text", "")),
            "answers": [
                (name.partition(".")[2], value)
                for name, value in answers
                if name.partition(".")[0] == str(place)
            ],
        }
        for place, item in enumerate(listed)
        if isinstance(item, dict)
    ]


async def decide(request: Request) -> Response:
    """Approve, or reject with a reason, one submission."""
    crowd = crowd_of(request)
    session = await requester_session(crowd, request)
    fields = await read_fields(request, MOST_FORM)
    check_csrf(request, session, fields)
    given = dict(fields)
    assignment_id = request.path_params["assignment_id"]
    reason = given.get("reason", "").strip()
    approves = given.get("decision") == "approve"
    if not approves and not reason:
        return go("/requester/submissions?words=A rejection needs a reason.")

    def work(connection: Connection, now: int) -> None:
        owner = (
            select(hits.c.requester_id)
            .join(assignments, assignments.c.hit_id == hits.c.hit_id)
            .where(assignments.c.assignment_id == assignment_id)
        )
        requester_id = connection.execute(owner).scalar_one_or_none()
        if requester_id is None:
            raise Refused("There is no such submission.", 404)
        params = {"AssignmentId": assignment_id}
        if reason:
            params["RequesterFeedback"] = reason
        call = Call(connection, crowd.memory, requester_id, now, params)
        (approve_assignment if approves else reject_assignment)(call)

    try:
        await crowd.write(work)
    except ServiceError as error:
        return go(f"/requester/submissions?words={quote(error.message)}")
    return go("/requester/submissions")


async def spending(request: Request) -> Response:
    """Where the money went: sums by kind, and the latest movements."""
    crowd = crowd_of(request)
    session = await requester_session(crowd, request)

    def work(connection: Connection, _now: int) -> tuple[dict[str, int], list[dict[str, Any]], int]:
        by_kind = select(account_entries.c.kind, func.sum(account_entries.c.amount_cents))
        query = by_kind.group_by(account_entries.c.kind)
        sums = {row[0]: int(row[1]) for row in connection.execute(query)}
        latest = select(account_entries).order_by(account_entries.c.entry_id.desc()).limit(SHOWN)
        rows = [dict(row) for row in connection.execute(latest).mappings()]
        count = connection.execute(select(func.count()).select_from(bonuses)).scalar_one()
        return sums, rows, int(count)

    sums, rows, bonus_count = await crowd.read(work)
    return render(
        "requester_spending.html",
        title="Spending",
        session=session,
        sums=sums,
        rows=rows,
        bonus_count=bonus_count,
    )
