"""The life of a HIT: from its counts, its expiry and the time follow its status and its hold.

Assignable    a worker can accept it
Unassignable  every assignment is taken (or it expired) and some are still being worked on
Reviewable    nobody works on it and nobody can accept it
Reviewing     the requester said so of a Reviewable HIT
Disposed      deleted
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairs_to_words.annotation.server.faults import does_not_exist
from pairs_to_words.annotation.server.memory import Memory
from pairs_to_words.annotation.server.notifications import notify
from pairs_to_words.annotation.server.tables import hits, requesters
from sqlalchemy import Connection, bindparam, select, update

Hit = dict[str, Any]

COUNTS = {
    "Accepted": "pending",
    "Submitted": "submitted",
    "Approved": "approved",
    "Rejected": "rejected",
}
"""Which count of a HIT an assignment in a state belongs to; Returned and Abandoned free theirs."""


# Statements of every accept and submit are built once: building costs more than running them.
_LOAD = select(hits).where(hits.c.hit_id == bindparam("wanted"))
_CHANGE = update(hits).where(hits.c.hit_id == bindparam("wanted"))


def load_hit(connection: Connection, hit_id: str) -> Hit:
    """Return a HIT that is known to exist."""
    return dict(connection.execute(_LOAD, {"wanted": hit_id}).mappings().one())


def find_hit(connection: Connection, requester_id: str, hit_id: str) -> Hit:
    """Return a requester's HIT.

    Raises:
        RequestError: There is none, it is another requester's, or it is disposed.
    """
    query = select(hits).where(hits.c.hit_id == hit_id, hits.c.requester_id == requester_id)
    row = connection.execute(query).mappings().one_or_none()
    if row is None or row["status"] == "Disposed":
        raise does_not_exist("HIT", hit_id)
    return dict(row)


def available(hit: Mapping[str, Any]) -> int:
    """Return how many assignments nobody has taken."""
    taken = hit["pending"] + hit["submitted"] + hit["approved"] + hit["rejected"]
    return int(hit["max_assignments"] - taken)


def status_of(hit: Mapping[str, Any], now: int) -> str:
    """Return the status that follows from a HIT's counts, expiry and flags at `now`."""
    if hit["disposed_at"] is not None:
        return "Disposed"
    if available(hit) > 0 and hit["expires_at"] > now:
        return "Assignable"
    if hit["pending"] > 0:
        return "Unassignable"
    return "Reviewing" if hit["reviewing"] else "Reviewable"


def held_slots(hit: Mapping[str, Any], now: int) -> int:
    """Return for how many assignments money must be kept: submitted, in work, or still open."""
    if hit["disposed_at"] is not None:
        return 0
    still_open = available(hit) if hit["expires_at"] > now else 0
    return int(hit["pending"] + hit["submitted"] + still_open)


def save_hit(connection: Connection, memory: Memory, hit: Hit, now: int, **changes: Any) -> None:
    """Apply changes to a HIT and everything that follows: status, hold, events, review policy.

    `hit` is updated in place.
    """
    before = hit["status"]
    hit |= changes
    if available(hit) > 0 and hit["expires_at"] > now:
        changes["reviewing"] = hit["reviewing"] = False
    changes["status"] = hit["status"] = status_of(hit, now)
    reward, fee = memory.cost(connection, hit)
    hold = held_slots(hit, now) * (reward + fee)
    if hold != hit["hold_cents"]:
        connection.execute(
            update(requesters)
            .where(requesters.c.requester_id == hit["requester_id"])
            .values(hold_cents=requesters.c.hold_cents + (hold - hit["hold_cents"]))
        )
        changes["hold_cents"] = hit["hold_cents"] = hold
    connection.execute(_CHANGE, {"wanted": hit["hit_id"], **changes})
    if hit["status"] == "Reviewable" and before in ("Assignable", "Unassignable"):
        _became_reviewable(connection, memory, hit, now)


def move(connection: Connection, memory: Memory, hit: Hit, now: int, old: str, new: str) -> None:
    """Count one assignment of `hit` from state `old` (empty for a new one) to `new`."""
    changes = {}
    if old in COUNTS:
        changes[COUNTS[old]] = hit[COUNTS[old]] - 1
    if new in COUNTS:
        changes[COUNTS[new]] = hit[COUNTS[new]] + 1
    save_hit(connection, memory, hit, now, **changes)


def _became_reviewable(connection: Connection, memory: Memory, hit: Hit, now: int) -> None:
    notify(connection, "HITReviewable", now, hit)
    if hit["hit_review_policy"]:
        from pairs_to_words.annotation.server.plurality import run_hit_policy

        run_hit_policy(connection, memory, hit, now)
