"""The HIT-level review policy SimplePlurality/2011-09-01, run when a HIT becomes reviewable.

Question agreement score: share of workers who gave the most frequent answer; above the threshold
the question has an agreed answer. HIT agreement score: share of questions with one. Worker
agreement score: share of agreed questions on which the worker gave the agreed answer.
Percentages are rounded down, as in the service's documentation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pairs_to_words.annotation.server.answers import JOIN, answer_sets
from pairs_to_words.annotation.server.extension import extend
from pairs_to_words.annotation.server.known_answers import known_answer_score
from pairs_to_words.annotation.server.memory import Memory
from pairs_to_words.annotation.server.policies import Policy, number, question_ids, texts
from pairs_to_words.annotation.server.policy_results import add_action, add_detail
from pairs_to_words.annotation.server.review import REVIEWED, pay, refuse
from pairs_to_words.annotation.server.tables import assignments
from sqlalchemy import Connection, select

LEVEL = "HIT"
LONGEST = 256
"""Longer answers take no part."""

Answers = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Agreement:
    """What workers agreed on in one HIT.

    Attributes:
        agreed: Question to the agreed answer, only where there is one.
        question_scores: Question to the percentage of its most frequent answer.
        hit_score: Percentage of questions with an agreed answer.
        worker_scores: Percentage per worker, in the order given; None when nothing was agreed.
    """

    agreed: dict[str, frozenset[str]]
    question_scores: dict[str, int]
    hit_score: int
    worker_scores: list[int | None]


def agreement(questions: Sequence[str], workers: Sequence[Answers], threshold: int) -> Agreement:
    """Compute the three scores of some workers' answers to one HIT."""
    agreed: dict[str, frozenset[str]] = {}
    scores: dict[str, int] = {}
    for question in questions:
        given = [answers[question] for answers in workers if _counts(answers, question)]
        if not given:
            scores[question] = 0
            continue
        [(answer, votes)] = Counter(given).most_common(1)
        scores[question] = votes * 100 // len(workers)
        if scores[question] > threshold:
            agreed[question] = answer
    worker_scores = [
        sum(answers.get(q) == a for q, a in agreed.items()) * 100 // len(agreed) if agreed else None
        for answers in workers
    ]
    return Agreement(agreed, scores, len(agreed) * 100 // len(questions), worker_scores)


def run_hit_policy(connection: Connection, memory: Memory, hit: dict[str, Any], now: int) -> None:
    """Compute a reviewable HIT's agreement, record it, and act on it."""
    policy = hit["hit_review_policy"]
    questions = question_ids(policy)
    rows = [row for row in _submitted(connection, hit) if _regarded(hit, policy, row)]
    if not rows:
        return
    answers = [answer_sets(row["answer"]) for row in rows]
    found = agreement(questions, answers, number(policy, "QuestionAgreementThreshold") or 0)
    _record(connection, hit, rows, answers, found)
    for row, score in zip(rows, found.worker_scores, strict=True):
        if score is not None:
            _review(connection, memory, hit, policy, row, score, now)
    extend_below = number(policy, "ExtendIfHITAgreementScoreIsLessThan")
    if extend_below is not None and found.hit_score < extend_below:
        extend(connection, memory, hit, policy, LEVEL, now)


def _submitted(connection: Connection, hit: Mapping[str, Any]) -> list[dict[str, Any]]:
    query = (
        select(assignments)
        .where(assignments.c.hit_id == hit["hit_id"], assignments.c.state.in_(REVIEWED))
        .order_by(assignments.c.seq)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def _regarded(hit: Mapping[str, Any], policy: Policy, row: Mapping[str, Any]) -> bool:
    rejected = texts(policy, "DisregardAssignmentIfRejected")[:1]
    if rejected and rejected[0].lower() in ("true", "t") and row["state"] == "Rejected":
        return False
    least = number(policy, "DisregardAssignmentIfKnownAnswerScoreIsLessThan")
    if least is not None and hit["assignment_review_policy"]:
        score, _right = known_answer_score(hit["assignment_review_policy"], row["answer"])
        return score >= least
    return True


def _record(
    connection: Connection,
    hit: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    answers: Sequence[Answers],
    found: Agreement,
) -> None:
    def result(subject: tuple[str, str], key: str, value: object, question: str = "") -> None:
        detail = {"SubjectType": subject[0], "SubjectId": subject[1]}
        if question:
            detail["QuestionId"] = question
        detail |= {"Key": key, "Value": str(value)}
        add_detail(connection, hit["hit_id"], LEVEL, "result", detail)

    whole = ("HIT", hit["hit_id"])
    for question, score in found.question_scores.items():
        if question in found.agreed:
            result(whole, "PluralityAnswer", JOIN.join(sorted(found.agreed[question])), question)
            for row, given in zip(rows, answers, strict=True):
                same = int(given.get(question) == found.agreed[question])
                subject = ("Assignment", row["assignment_id"])
                result(subject, "AgreedWithPlurality", same, question)
        result(whole, "PluralityLevel", score, question)
    result(whole, "HITAgreementScore", found.hit_score)
    for row, worker_score in zip(rows, found.worker_scores, strict=True):
        if worker_score is not None:
            subject = ("Assignment", row["assignment_id"])
            result(subject, "WorkerAgreementScore", worker_score)


def _review(
    connection: Connection,
    memory: Memory,
    hit: dict[str, Any],
    policy: Policy,
    row: dict[str, Any],
    score: int,
    now: int,
) -> None:
    approve_at = number(policy, "ApproveIfWorkerAgreementScoreIsAtLeast")
    reject_below = number(policy, "RejectIfWorkerAgreementScoreIsLessThan")
    if approve_at is not None and score >= approve_at:
        name, done = "approve", "Approved"
    elif reject_below is not None and score < reject_below:
        name, done = "reject", "Rejected"
    else:
        return
    target = ("Assignment", row["assignment_id"])
    if row["state"] == done:
        words, error = f"Already {done.lower()}", ""
    elif row["state"] != "Submitted":
        words = "Assignment was in an invalid state for this operation."
        error = "AWS.MechanicalTurk.InvalidAssignmentState"
    elif done == "Approved":
        pay(connection, memory, hit, row, now, next(iter(texts(policy, "ApproveReason")), None))
        words, error = done, ""
    else:
        refuse(connection, memory, hit, row, now, next(iter(texts(policy, "RejectReason")), ""))
        words, error = done, ""
    add_action(connection, hit["hit_id"], LEVEL, name, target, now, words, error)


def _counts(answers: Answers, question: str) -> bool:
    values = answers.get(question)
    return values is not None and sum(map(len, values)) <= LONGEST
