"""Report what review policies found and did."""

from __future__ import annotations

from typing import Any

from pairs_to_words.annotation.server.hit_state import find_hit
from pairs_to_words.annotation.server.ids import new_id
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.paging import page
from pairs_to_words.annotation.server.tables import review_details
from sqlalchemy import Connection, insert, select

Detail = dict[str, Any]


def add_detail(connection: Connection, hit_id: str, level: str, kind: str, detail: Detail) -> None:
    """Record one result or action of a policy.

    Args:
        connection: The transaction.
        hit_id: The HIT under review.
        level: `Assignment` or `HIT`.
        kind: `result` or `action`.
        detail: The service's structure without its ActionId.
    """
    action_id = new_id()
    connection.execute(
        insert(review_details).values(
            action_id=action_id,
            hit_id=hit_id,
            level=level,
            kind=kind,
            detail={"ActionId": action_id, **detail},
        )
    )


def add_action(
    connection: Connection,
    hit_id: str,
    level: str,
    name: str,
    target: tuple[str, str],
    now: int,
    words: str,
    error: str = "",
) -> None:
    """Record an action on a target (type, id).

    `error` is empty when it succeeded, `Cancelled` when it was not tried, else an error code.
    """
    detail = {
        "ActionName": name,
        "TargetType": target[0],
        "TargetId": target[1],
        "Status": {"": "Succeeded", "Cancelled": "Cancelled"}.get(error, "Failed"),
        "CompleteTime": now,
        "Result": words,
    }
    if detail["Status"] == "Failed":
        detail["ErrorCode"] = error
    add_detail(connection, hit_id, level, "action", detail)


def list_policy_results(call: Call) -> dict[str, Any]:
    """Return the policies of a HIT with their results and actions."""
    hit = find_hit(call.connection, call.requester_id, call.params["HITId"])
    levels = call.params.get("PolicyLevels") or ["Assignment", "HIT"]
    kinds = [
        kind
        for kind, wanted in (("result", "RetrieveResults"), ("action", "RetrieveActions"))
        if call.params.get(wanted, True)
    ]
    query = select(review_details).where(
        review_details.c.hit_id == hit["hit_id"],
        review_details.c.level.in_(levels),
        review_details.c.kind.in_(kinds),
    )
    found = page(call, query, review_details.c.seq, "Details", dict)
    answer: dict[str, Any] = {
        "HITId": hit["hit_id"],
        "AssignmentReviewPolicy": hit["assignment_review_policy"],
        "HITReviewPolicy": hit["hit_review_policy"],
        "NextToken": found.get("NextToken"),
    }
    for level in levels:
        rows = [row for row in found["Details"] if row["level"] == level]
        answer[f"{level}ReviewReport"] = {
            "ReviewResults": [row["detail"] for row in rows if row["kind"] == "result"],
            "ReviewActions": [row["detail"] for row in rows if row["kind"] == "action"],
        }
    return answer
