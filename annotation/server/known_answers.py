"""The assignment-level review policy ScoreMyKnownAnswers/2011-09-01, run at each submit."""

from __future__ import annotations

from typing import Any

from pairs_to_words.annotation.server.answers import answer_sets
from pairs_to_words.annotation.server.extension import extend
from pairs_to_words.annotation.server.memory import Memory
from pairs_to_words.annotation.server.policies import answer_key, number, texts
from pairs_to_words.annotation.server.policy_results import add_action, add_detail
from pairs_to_words.annotation.server.review import pay, refuse
from sqlalchemy import Connection

LEVEL = "Assignment"


def run_assignment_policy(
    connection: Connection,
    memory: Memory,
    hit: dict[str, Any],
    assignment: dict[str, Any],
    now: int,
) -> int:
    """Score a submitted assignment against known answers and act; return the score in percent.

    An answer is right when its set of values equals the key's, outer spaces aside.
    """
    policy = hit["assignment_review_policy"]
    score = _score(connection, hit, assignment, now)
    target = ("Assignment", assignment["assignment_id"])
    approve_at = number(policy, "ApproveIfKnownAnswerScoreIsAtLeast")
    reject_below = number(policy, "RejectIfKnownAnswerScoreIsLessThan")
    if approve_at is not None and score >= approve_at:
        reason = next(iter(texts(policy, "ApproveReason")), None)
        pay(connection, memory, hit, assignment, now, reason)
        add_action(connection, hit["hit_id"], LEVEL, "approve", target, now, "Approved")
    elif reject_below is not None and score < reject_below:
        reason = next(iter(texts(policy, "RejectReason")), "")
        refuse(connection, memory, hit, assignment, now, reason)
        add_action(connection, hit["hit_id"], LEVEL, "reject", target, now, "Rejected")
    extend_below = number(policy, "ExtendIfKnownAnswerScoreIsLessThan")
    if extend_below is not None and score < extend_below:
        extend(connection, memory, hit, policy, LEVEL, now)
    return score


def known_answer_score(policy: Any, answer: str) -> tuple[int, dict[str, bool]]:
    """Return the percentage of right answers (rounded down) and which question was right."""
    given = answer_sets(answer)
    right = {name: given.get(name) == wanted for name, wanted in answer_key(policy).items()}
    return sum(right.values()) * 100 // len(right), right


def _score(
    connection: Connection, hit: dict[str, Any], assignment: dict[str, Any], now: int
) -> int:
    score, right = known_answer_score(hit["assignment_review_policy"], assignment["answer"])
    subject = {"SubjectId": assignment["assignment_id"], "SubjectType": "Assignment"}
    for name, is_right in right.items():
        detail = {"QuestionId": name, "Key": "KnownAnswerCorrect", "Value": str(int(is_right))}
        add_detail(connection, hit["hit_id"], LEVEL, "result", subject | detail)
    detail = {"Key": "KnownAnswerScore", "Value": str(score)}
    add_detail(connection, hit["hit_id"], LEVEL, "result", subject | detail)
    words = f"Reviewed {len(right)} known answers; {sum(right.values())}/{len(right)} correct"
    target = ("Assignment", assignment["assignment_id"])
    add_action(connection, hit["hit_id"], LEVEL, "review", target, now, words)
    return score
