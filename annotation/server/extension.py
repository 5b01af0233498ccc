"""Extend a HIT by one assignment because a review policy asked for another opinion."""

from __future__ import annotations

from typing import Any

from pairs_to_words.annotation.money import MANY_ASSIGNMENTS
from pairs_to_words.annotation.server.hit_state import save_hit
from pairs_to_words.annotation.server.memory import Memory
from pairs_to_words.annotation.server.notifications import notify
from pairs_to_words.annotation.server.policies import Policy, number
from pairs_to_words.annotation.server.policy_results import add_action
from pairs_to_words.annotation.server.requester import available_cents
from sqlalchemy import Connection

DEFAULT_MAXIMUM = 5


def extend(
    connection: Connection,
    memory: Memory,
    hit: dict[str, Any],
    policy: Policy,
    level: str,
    now: int,
) -> None:
    """Add one assignment, and time, within the policy's maximum and the ten-assignment rule."""
    target = ("HIT", hit["hit_id"])
    most = number(policy, "ExtendMaximumAssignments") or DEFAULT_MAXIMUM
    total = hit["max_assignments"] + 1
    if total > most or hit["max_assignments"] < MANY_ASSIGNMENTS <= total:
        words = "The HIT has its maximum number of assignments."
        add_action(connection, hit["hit_id"], level, "extend", target, now, words, "Cancelled")
        return
    if available_cents(connection, hit["requester_id"]) < sum(memory.cost(connection, hit)):
        words = "The account has insufficient funds."
        code = "AWS.MechanicalTurk.InsufficientFunds"
        add_action(connection, hit["hit_id"], level, "extend", target, now, words, code)
        return
    more_time = number(policy, "ExtendMinimumTimeInSeconds") or 0
    expires = max(hit["expires_at"], now + more_time * 1000)
    save_hit(
        connection,
        memory,
        hit,
        now,
        max_assignments=total,
        expires_at=expires,
        expiry_seen=expires <= now,
    )
    memory.note(expires)
    notify(connection, "HITExtended", now, hit)
    add_action(connection, hit["hit_id"], level, "extend", target, now, "Extended")
