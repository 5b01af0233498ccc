"""Publish a task: plan HITs and their cost, write them down, send them, survive a crash anywhere.

Every HIT is a row (and a ledger entry) before its call. A call carries a token that follows from
the row, and an annotation that names it. So a second run knows what a first run meant to do, and
finds out from the crowd what it did: nothing is published twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from pairs_to_words.annotation.items import items_of
from pairs_to_words.annotation.money import from_cents, reward_fee
from pairs_to_words.annotation.mturk import Crowd, CrowdError, existing_id
from pairs_to_words.annotation.task_pages import page_hash, page_html, page_question
from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.config import Config
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_value
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.protocol import ProtocolDeclaration, Task
from pairs_to_words.project.records import Item
from pairs_to_words.project.store import ledger
from pairs_to_words.project.store.batches import (
    PLANNED,
    SENT,
    add_batch,
    batches_of,
    hit_published,
    hit_sent,
    hits_of,
    items_asked,
    set_hit_type,
)
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.events import log_event
from pairs_to_words.project.store.judgments import add_items, read_items
from sqlalchemy import Engine

TOKEN_LIFE = timedelta(hours=23)
"""A token protects for 24 hours; past this the crowd is searched before anything is sent."""


@dataclass(frozen=True)
class Plan:
    """What a launch would do.

    Attributes:
        task_name: The task.
        task: Its declaration.
        sample: Where its units come from.
        items: New items, in the order of their HITs.
        unfinished: HITs that an earlier run wrote down and did not confirm.
        committed: USD committed by the project so far, fees included.
        cap: The project's spending cap in USD.
    """

    task_name: str
    task: Task
    sample: str
    items: list[Item]
    unfinished: list[dict[str, Any]]
    committed: Decimal
    cap: Decimal

    @property
    def groups(self) -> list[list[Item]]:
        """The new items, one list per HIT."""
        size = self.task.items_per_hit
        return [self.items[i : i + size] for i in range(0, len(self.items), size)]

    @property
    def assignments(self) -> int:
        """Assignments of the new HITs."""
        return len(self.groups) * self.task.redundancy

    @property
    def fee(self) -> Decimal:
        """Fee per assignment in USD."""
        cents = reward_fee(
            int(self.task.reward * 100), max_assignments=self.task.redundancy, masters=False
        )
        return Decimal(from_cents(cents))

    @property
    def cost(self) -> Decimal:
        """USD that the new HITs commit, fees included."""
        return self.assignments * (self.task.reward + self.fee)

    @property
    def hourly(self) -> Decimal:
        """Effective pay per hour in USD at the estimated time."""
        pay = self.task.reward * 3600 / self.task.estimated_seconds
        return pay.quantize(Decimal("0.01"))

    def rows(self) -> list[tuple[str, str]]:
        """The plan as a person reads it before money is committed."""
        return [
            ("task", f"{self.task_name}: {self.task.title}"),
            ("sample", self.sample),
            ("items", f"{len(self.items):,}"),
            ("HITs", f"{len(self.groups):,} of up to {self.task.items_per_hit} items"),
            ("to finish from before", f"{len(self.unfinished):,} HITs"),
            ("assignments", f"{self.assignments:,} ({self.task.redundancy} workers per item)"),
            ("reward", f"{self.task.reward} USD per assignment"),
            ("fee", f"{self.fee} USD per assignment"),
            ("pay per hour", f"{self.hourly} USD at {self.task.estimated_seconds} s"),
            ("total", f"{self.cost} USD"),
            ("committed before", f"{self.committed} of {self.cap} USD"),
        ]


def plan_launch(
    engine: Engine,
    layout: Layout,
    config: Config,
    protocol: ProtocolDeclaration,
    task_name: str,
    *,
    sample: str = "",
    limit: int | None = None,
) -> Plan:
    """Work out what a launch would publish; write nothing.

    Args:
        engine: The project's state.
        layout: The project.
        config: Its configuration.
        protocol: Its protocol.
        task_name: The task to launch.
        sample: Name of the sample; empty means the configured one.
        limit: Ask about this many units in all, spread over the pivots; None asks about all.

    Raises:
        UserError: No such task, sample or photos, or the spending cap would be broken.
    """
    task = protocol.task(task_name)
    sample = sample or config.sample.name
    with engine.connect() as connection:
        wanted = items_of(connection, layout, task_name, task, sample, config.project.seed)
        asked = items_asked(connection, task_name)
        unfinished = hits_of(connection, task_name, (PLANNED, SENT))
        committed = ledger.committed(connection)
    if limit is not None:
        wanted = wanted[:limit]
    new = [item for item in wanted if item.item_id not in asked]
    cap = config.crowd.max_cost
    plan = Plan(task_name, task, sample, new, unfinished, committed, cap)
    if plan.committed + plan.cost > cap:
        raise UserError(
            f"This launch costs {plan.cost} USD; with {plan.committed} USD committed before it "
            f"breaks the project's cap of {cap} USD.",
            "Launch fewer with `--limit N`, or raise [crowd] max_cost in collect.toml.",
        )
    return plan


def publish(
    engine: Engine,
    crowd: Crowd,
    plan: Plan,
    clock: Clock,
    progress: Progress = no_progress,
) -> dict[str, int]:
    """Write the plan down, then send it and whatever an earlier run left.

    Returns:
        Counts `published` (by this run), `found` (live already from an earlier run) and `items`.

    Raises:
        UserError: Unfinished HITs belong to another crowd.
        CouldNotError: The crowd stopped answering; running again continues.
    """
    _refuse_other_crowd(crowd, plan.unfinished)
    if plan.items:
        _write_down(engine, crowd, plan, clock)
    with engine.connect() as connection:
        todo = hits_of(connection, plan.task_name, (PLANNED, SENT))
        items = {item.item_id: item for item in read_items(connection, plan.task_name)}
    live = _live_hits(crowd, engine, todo, clock)
    counts = {"published": 0, "found": 0, "items": len(plan.items)}
    with progress(f"launch {plan.task_name}", total=len(todo), unit="HIT") as advance:
        for hit in todo:
            shown = [items[item_id] for item_id in hit["item_ids"]]
            counts[_send(engine, crowd, plan, hit, shown, live, clock)] += 1
            advance(1)
    return counts


def _write_down(engine: Engine, crowd: Crowd, plan: Plan, clock: Clock) -> None:
    """One transaction: items, batch, HITs and ledger entries, all before the first call."""
    at = iso(clock())
    with transaction(engine) as connection:
        earlier = len(batches_of(connection, plan.task_name))
        identity = [plan.task_name, plan.sample, earlier, [item.item_id for item in plan.items]]
        batch_id = f"{plan.task_name}-{earlier + 1}-{hash_value(identity)[:8]}"
        add_items(connection, plan.items)
        rows = [_hit_row(batch_id, i, group, plan, at) for i, group in enumerate(plan.groups)]
        batch = {
            "batch_id": batch_id,
            "task": plan.task_name,
            "sample": plan.sample,
            "crowd": crowd.name,
            "endpoint": crowd.endpoint,
            "hit_type_id": "",
            "template_hash": page_hash(plan.task),
            "settings": {"reward": str(plan.task.reward), "fee": str(plan.fee)},
            "state": "open",
            "created_at": at,
        }
        add_batch(connection, batch, rows)
        ledger.intend(
            connection,
            [
                {
                    "entry_id": f"publish:{row['hit_key']}",
                    "kind": ledger.PUBLISH,
                    "target": row["hit_key"],
                    "batch_id": batch_id,
                    "amount": plan.task.reward * plan.task.redundancy,
                    "fee": plan.fee * plan.task.redundancy,
                    "token": row["token"],
                    "intended_at": at,
                }
                for row in rows
            ],
        )
        log_event(connection, at, "batch planned", batch_id, hits=len(rows), cost=str(plan.cost))


def _hit_row(
    batch_id: str, index: int, group: Sequence[Item], plan: Plan, at: str
) -> dict[str, Any]:
    hit_key = f"{batch_id}:{index:05d}"
    item_ids = [item.item_id for item in group]
    return {
        "hit_key": hit_key,
        "batch_id": batch_id,
        "hit_id": None,
        "token": hash_value(["publish", hit_key, item_ids, at]),
        "item_ids": item_ids,
        "max_assignments": plan.task.redundancy,
        "state": PLANNED,
        "created_at": at,
    }


def _send(
    engine: Engine,
    crowd: Crowd,
    plan: Plan,
    hit: dict[str, Any],
    items: Sequence[Item],
    live: dict[str, str],
    clock: Clock,
) -> str:
    hit_id = live.get(hit["hit_key"])
    outcome = "found"
    if hit_id is None:
        question = page_question(page_html(plan.task_name, plan.task, items, crowd.photo_base))
        hit_type_id = _hit_type(engine, crowd, plan, hit)
        _note(engine, hit, ledger.SENT, clock)
        hit_id, outcome = _create(crowd, hit, hit_type_id, plan.task, question)
    with transaction(engine) as connection:
        at = iso(clock())
        hit_published(connection, hit["hit_key"], hit_id, at)
        entry_id = f"publish:{hit['hit_key']}"
        ledger.set_state(connection, entry_id, ledger.CONFIRMED, at, hit_id)
    return outcome


def _create(
    crowd: Crowd, hit: dict[str, Any], hit_type_id: str, task: Task, question: str
) -> tuple[str, str]:
    try:
        answer = crowd.call(
            "create_hit_with_hit_type",
            HITTypeId=hit_type_id,
            MaxAssignments=hit["max_assignments"],
            LifetimeInSeconds=task.lifetime_seconds,
            Question=question,
            RequesterAnnotation=hit["hit_key"],
            UniqueRequestToken=hit["token"],
        )
    except CrowdError as error:
        known = existing_id(error)
        if known is None:
            raise
        return known, "found"
    return str(answer["HIT"]["HITId"]), "published"


def _hit_type(engine: Engine, crowd: Crowd, plan: Plan, hit: dict[str, Any]) -> str:
    """Return the batch's HIT type; the crowd gives the same id for the same properties."""
    with engine.connect() as connection:
        batches = {row["batch_id"]: row for row in batches_of(connection, plan.task_name)}
    known: str = batches[hit["batch_id"]]["hit_type_id"]
    if known:
        return known
    task = plan.task
    made = crowd.call(
        "create_hit_type",
        Title=task.title,
        Description=task.description,
        Keywords=task.keywords,
        Reward=str(task.reward),
        AssignmentDurationInSeconds=task.assignment_seconds,
        AutoApprovalDelayInSeconds=task.auto_approval_seconds,
    )
    with transaction(engine) as connection:
        set_hit_type(connection, hit["batch_id"], made["HITTypeId"])
    return str(made["HITTypeId"])


def _note(engine: Engine, hit: dict[str, Any], state: str, clock: Clock) -> None:
    with transaction(engine) as connection:
        hit_sent(connection, hit["hit_key"])
        ledger.set_state(connection, f"publish:{hit['hit_key']}", state, iso(clock()))


def _live_hits(
    crowd: Crowd, engine: Engine, todo: Sequence[dict[str, Any]], clock: Clock
) -> dict[str, str]:
    """Return hit key -> HIT id of what is live, asking only when tokens no longer protect."""
    with engine.connect() as connection:
        sent = {
            row["target"]: row["sent_at"]
            for row in ledger.entries(connection, ledger.PUBLISH, (ledger.SENT,))
        }
    oldest = iso(clock() - TOKEN_LIFE)
    if not any(hit["state"] == SENT and sent.get(hit["hit_key"], "") < oldest for hit in todo):
        return {}
    return {
        row["RequesterAnnotation"]: row["HITId"]
        for row in crowd.pages("list_hits", "HITs")
        if row.get("RequesterAnnotation")
    }


def _refuse_other_crowd(crowd: Crowd, unfinished: Sequence[dict[str, Any]]) -> None:
    for hit in unfinished:
        if (hit["crowd"], hit["endpoint"]) != (crowd.name, crowd.endpoint):
            raise UserError(
                f"Batch {hit['batch_id']} was begun on the crowd {hit['crowd']} "
                f"({hit['endpoint']}), not on {crowd.name} ({crowd.endpoint}).",
                "Finish it there first: the same task with that crowd.",
            )
