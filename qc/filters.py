"""Filters: which items move on, which are dropped, and why, as verdicts that other stages read."""

from __future__ import annotations

import pandas as pd
from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.protocol import PassRule, ProtocolDeclaration
from pairs_to_words.project.records import Verdict
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.events import log_event
from pairs_to_words.project.store.judgments import (
    put_verdicts,
    read_items,
    read_judgments,
    read_verdicts,
)
from sqlalchemy import Engine

PASS, FAIL, OPEN = "pass", "fail", "open"


def decide(
    engine: Engine, protocol: ProtocolDeclaration, task: str, clock: Clock
) -> dict[str, int]:
    """Apply a task's pass rule to its judgments and store one verdict per item.

    A verdict that did not change is not written again, so deciding twice changes nothing.

    Returns:
        Counts `items`, `pass`, `fail` and `open`.

    Raises:
        UserError: The protocol has no such task, or the task decides nothing.
    """
    rule = protocol.task(task).pass_rule
    if rule is None:
        raise UserError(
            f"The task {task} of protocol {protocol.name} has no pass_rule.",
            "Only tasks with a pass_rule decide which items move on.",
        )
    with transaction(engine) as connection:
        item_ids = [item.item_id for item in read_items(connection, task)]
        judgments = read_judgments(connection, task)
        decided = apply_rule(rule, judgments, item_ids, task)
        before = read_verdicts(connection, task)
        changed = [verdict for verdict in decided if before.get(verdict.item_id) != verdict]
        counts = {"items": len(decided)}
        for name in (PASS, FAIL, OPEN):
            counts[name] = sum(verdict.verdict == name for verdict in decided)
        if changed:
            at = iso(clock())
            put_verdicts(connection, changed, at)
            log_event(connection, at, "verdicts decided", task, changed=len(changed), **counts)
    return counts


def apply_rule(
    rule: PassRule, judgments: pd.DataFrame, item_ids: list[str], task: str
) -> list[Verdict]:
    """Decide each item from its judgments; a worker's later judgment replaces the earlier.

    An item passes or fails as soon as no judgment still to come could change that, else it is
    open. With more judgments than the rule speaks of, the rule's share decides.

    Args:
        rule: Such as `clear >= 4 of 5 on clear_1 and clear_2`.
        judgments: Columns item_id, field, worker_id, value, in order of arrival.
        item_ids: Every item of the task, judged or not.
    """
    relevant = judgments[judgments["field"].isin(rule.fields)]
    last = relevant.drop_duplicates(["item_id", "field", "worker_id"], keep="last")
    matches = last["value"] == rule.label
    groups = matches.groupby([last["item_id"], last["field"]])
    table = groups.agg(["sum", "count"])
    counted: dict[tuple[str, str], tuple[int, int]] = {
        key: (int(hits), int(total))
        for key, hits, total in zip(table.index, table["sum"], table["count"], strict=True)
    }
    return [
        _verdict(rule, task, item_id, {f: counted.get((item_id, f), (0, 0)) for f in rule.fields})
        for item_id in item_ids
    ]


def _verdict(
    rule: PassRule, task: str, item_id: str, counts: dict[str, tuple[int, int]]
) -> Verdict:
    by_field = {field: _state(rule, *count) for field, count in counts.items()}
    if FAIL in by_field.values():
        verdict = FAIL
    elif OPEN in by_field.values():
        verdict = OPEN
    else:
        verdict = PASS
    reasons = [
        f"{field}: {counts[field][0]} of {counts[field][1]} said {rule.label}"
        for field, state in by_field.items()
        if state == verdict and verdict != PASS
    ]
    return Verdict(task, item_id, verdict, rule.words(), "; ".join(reasons))


def _state(rule: PassRule, hits: int, total: int) -> str:
    if total > rule.of:
        return PASS if hits * rule.of >= rule.at_least * total else FAIL
    if hits >= rule.at_least:
        return PASS
    return FAIL if total - hits > rule.of - rule.at_least else OPEN
