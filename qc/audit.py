"""The audit: agreement, annotators and filters of a project in one plain, JSON-able value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.config import Config
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import ProtocolDeclaration, Task
from pairs_to_words.project.pseudonyms import pseudonym, pseudonym_key
from pairs_to_words.project.records import Item
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.judgments import judged_tasks, read_items, read_judgments
from pairs_to_words.project.store.reviews import (
    ANNOTATOR,
    AUDIT,
    EXCLUDE,
    Review,
    add_reviews,
    current_reviews,
)
from pairs_to_words.qc.agreement import Result, agreement_of
from pairs_to_words.qc.annotators import ACTIONS, Annotator, Thresholds, annotate_workers
from pairs_to_words.qc.counts import Convention, Level, tabulate
from pairs_to_words.qc.filters import FAIL, OPEN, PASS, apply_rule
from pairs_to_words.qc.guidelines import SpeciesNames, species_names
from pairs_to_words.qc.validation import filter_validations
from sqlalchemy import Engine

SCHEMA = "pairs-to-words audit 1"
REPORTED: tuple[Convention, ...] = ("per_worker", "per_event")

# A field that no protocol declares is a label when its values are few and short.
_MOST_LABELS = 100
_LONGEST_LABEL = 60


@dataclass(frozen=True)
class TaskFields:
    """Which fields of a task hold labels (name, level, order of the labels) and which texts."""

    labels: tuple[tuple[str, Level, tuple[str, ...]], ...]
    texts: tuple[str, ...]
    min_words: int = 0


def audit(
    engine: Engine,
    protocol: ProtocolDeclaration,
    config: Config,
    layout: Layout,
    *,
    task: str | None = None,
) -> dict[str, Any]:
    """Audit a project's judgments; nothing is written but the pseudonym secret at first use.

    Args:
        task: Only this task; None audits every task with judgments.

    Returns:
        One JSON-able object; its keys are described in docs/audit.md.

    Raises:
        UserError: No judgments, or none of this task.
    """
    with engine.connect() as connection:
        tasks = judged_tasks(connection)
        if not tasks:
            raise UserError(
                "This project has no judgments yet.",
                "Fetch some with `collect pull TASK` or `collect import`.",
            )
        if task is not None and task not in tasks:
            raise UserError(
                f"There are no judgments of task {task!r}.", f"There are of: {', '.join(tasks)}."
            )
        chosen = [task] if task else tasks
        items = {name: read_items(connection, name) for name in chosen}
        judgments = {name: read_judgments(connection, name) for name in chosen}
        decided = current_reviews(connection, ANNOTATOR)
    names = catalogue_names(layout)
    thresholds = Thresholds(min_judgments=config.qc.min_judgments)
    agreement: list[dict[str, Any]] = []
    people: list[Annotator] = []
    for name in chosen:
        fields = task_fields(protocol.tasks.get(name), judgments[name])
        agreement += _agreement_rows(name, fields, judgments[name], items[name])
        declared = protocol.tasks.get(name)
        people += annotate_workers(
            judgments[name],
            name,
            label_fields=[label for label, _level, _order in fields.labels],
            text_fields=fields.texts,
            gold=gold_labels(items[name]),
            names=names,
            min_words=fields.min_words,
            reward=float(declared.reward) if declared else None,
            thresholds=thresholds,
        )
    key = pseudonym_key(layout)
    floor = float(config.crowd.hourly_floor)
    humans = {w: r for w, r in decided.items() if r.reviewer != AUDIT}
    annotators = _by_worker(people, key, humans)
    excluded = {row["worker_id"] for row in annotators if row["action"] == EXCLUDE}
    return {
        "schema": SCHEMA,
        "protocol": protocol.name,
        "convention": config.qc.convention,
        "thresholds": asdict(thresholds),
        "tasks": [
            {
                "task": name,
                "items": len(items[name]),
                "judgments": len(judgments[name]),
                "workers": int(judgments[name]["worker_id"].nunique()),
                "simulated": bool(judgments[name]["simulated"].any()),
            }
            for name in chosen
        ],
        "agreement": agreement,
        "annotators": annotators,
        "annotator_tasks": [
            asdict(person) | {"pseudonym": pseudonym(key, person.worker_id)} for person in people
        ],
        "exclusions": [
            row
            for name in chosen
            for row in _exclusion_rows(name, judgments[name], items[name], excluded, protocol)
        ],
        "pay": [row for name in chosen for row in _pay_rows(name, people, floor)],
        "filters": [
            row
            for name in chosen
            for row in _filter_rows(name, protocol.tasks.get(name), judgments[name], items[name])
        ],
    }


def record_decisions(engine: Engine, report: dict[str, Any], clock: Clock) -> int:
    """Store the audit's recommended actions as reviews; return how many changed.

    Releases leave out the work of excluded annotators. A person's decision is never overwritten.
    """
    at = iso(clock())
    with transaction(engine) as connection:
        before = current_reviews(connection, ANNOTATOR, AUDIT)
        rows = []
        for person in report["annotators"]:
            note = "; ".join(person["reasons"])
            last = before.get(person["worker_id"])
            if last is None or (last.decision, last.note) != (person["recommended"], note):
                rows.append(
                    Review(ANNOTATOR, person["worker_id"], AUDIT, person["recommended"], note, at)
                )
        add_reviews(connection, rows)
    return len(rows)


def task_fields(declared: Task | None, judgments: pd.DataFrame) -> TaskFields:
    """Tell labels from texts: as the protocol declares, else by how the values look."""
    labels: list[tuple[str, Level, tuple[str, ...]]] = []
    texts: list[str] = []
    min_words = 0
    known = {f.name: f for f in declared.fields} if declared else {}
    for name, values in judgments.groupby("field", sort=True)["value"]:
        kind = known.get(str(name))
        if kind is not None:
            if kind.kind == "label":
                labels.append((str(name), kind.level, tuple(kind.labels)))
            elif kind.kind == "text":
                texts.append(str(name))
                min_words = max(min_words, kind.min_words)
        elif values.nunique() <= _MOST_LABELS and values.str.len().max() <= _LONGEST_LABEL:
            labels.append((str(name), "nominal", ()))
        else:
            texts.append(str(name))
    return TaskFields(tuple(labels), tuple(texts), min_words)


def gold_labels(items: Iterable[Item]) -> dict[tuple[str, str], str]:
    """Return (item, field) -> known label of the gold items."""
    return {
        (item.item_id, field): str(label)
        for item in items
        for field, label in item.data.get("gold", {}).items()
    }


def catalogue_names(layout: Layout) -> SpeciesNames | None:
    """Return the species names of the project's catalogue, None when it has none."""
    path = layout.catalog / "taxa.parquet"
    if not path.exists():
        return None
    taxa = read_parquet(path, columns=["species", "common_name"])
    return species_names(taxa["common_name"].to_pylist(), taxa["species"].to_pylist())


def field_agreement(
    judgments: pd.DataFrame,
    items: Iterable[Item],
    convention: Convention,
    level: Level = "nominal",
    order: Sequence[str] = (),
) -> dict[str, Result]:
    """Compute agreement on one field's judgments, clustered as the items declare.

    Ordinal labels are ranked in `order`, as the protocol lists them.
    """
    clusters = {item.item_id: item.cluster for item in items}
    found = [clusters.get(item_id, "") for item_id in judgments["item_id"]]
    named = pd.Series(found, index=judgments.index, dtype=object)
    alone = "item " + judgments["item_id"]
    frame = judgments.assign(cluster=named.where(named != "", alone))
    tabulated = tabulate(
        frame,
        item="item_id",
        worker="worker_id",
        label="value",
        cluster="cluster" if (named != "").any() else None,
        convention=convention,
        level=level,
        order=order if level == "ordinal" and order else None,
    )
    return agreement_of(tabulated, level)


def _agreement_rows(
    task: str, fields: TaskFields, judgments: pd.DataFrame, items: list[Item]
) -> list[dict[str, Any]]:
    return [
        {"task": task, "field": field} | result.as_row()
        for field, level, order in fields.labels
        for convention in REPORTED
        for result in field_agreement(
            judgments[judgments["field"] == field], items, convention, level, order
        ).values()
    ]


def _exclusion_rows(
    task: str,
    judgments: pd.DataFrame,
    items: list[Item],
    excluded: set[str],
    protocol: ProtocolDeclaration,
) -> Iterable[dict[str, Any]]:
    """Yield agreement with and without the excluded annotators, with the share removed."""
    for field, level, order in task_fields(protocol.tasks.get(task), judgments).labels:
        rows = judgments[judgments["field"] == field]
        gone = rows["worker_id"].isin(excluded)
        if not gone.any() or gone.all():
            continue
        name = f"krippendorff_alpha_{level}"
        before, after = (
            field_agreement(part, items, "per_worker", level, order)[name].value
            for part in (rows, rows[~gone])
        )
        yield {
            "task": task,
            "field": field,
            "annotators": int(rows["worker_id"][gone].nunique()),
            "judgments_removed": int(gone.sum()),
            "share_removed": float(gone.mean()),
            "before": before,
            "after": after,
        }


def _pay_rows(task: str, people: list[Annotator], floor: float) -> Iterable[dict[str, Any]]:
    """Yield a task's median hourly pay and how many annotators earn less than the floor."""
    rates = [p.hourly_pay for p in people if p.task == task and p.hourly_pay is not None]
    if rates:
        yield {
            "task": task,
            "median_hourly_pay": float(pd.Series(rates).median()),
            "floor": floor,
            "annotators_below": sum(rate < floor for rate in rates),
            "annotators": len(rates),
        }


def _filter_rows(
    task: str, declared: Task | None, judgments: pd.DataFrame, items: list[Item]
) -> Iterable[dict[str, Any]]:
    yield from _validation_rows(task, judgments, items)
    if declared is None or declared.pass_rule is None:
        return
    verdicts = apply_rule(declared.pass_rule, judgments, [i.item_id for i in items], task)
    count = {name: sum(v.verdict == name for v in verdicts) for name in (PASS, FAIL, OPEN)}
    kept = {v.item_id for v in verdicts if v.verdict == PASS}
    after = judgments[judgments["item_id"].isin(kept)]
    yield {
        "task": task,
        "rule": declared.pass_rule.words(),
        "passed": count[PASS],
        "failed": count[FAIL],
        "open": count[OPEN],
        "share_removed": count[FAIL] / len(verdicts) if verdicts else None,
        "agreement": [
            {
                "field": field,
                "before": _alpha(judgments, items, field),
                "after": _alpha(after, items, field),
            }
            for field in declared.pass_rule.fields
        ],
    }


def _validation_rows(
    task: str, judgments: pd.DataFrame, items: list[Item]
) -> Iterable[dict[str, Any]]:
    """Yield the validation rules of sentences whose writer gave a label (item data `label`)."""
    references = {i.item_id: str(i.data["label"]) for i in items if i.data.get("label")}
    rows = judgments[judgments["field"] == "label"]
    if not references or rows.empty:
        return
    _kept, steps = filter_validations(rows, references)
    for step in steps:
        yield {
            "task": task,
            "rule": step.rule,
            "passed": step.passed,
            "failed": step.failed,
            "open": 0,
            "share_removed": step.share_removed,
            "agreement": [
                {"field": "label", "before": step.alpha_before, "after": step.alpha_after}
            ],
        }


def _alpha(judgments: pd.DataFrame, items: list[Item], field: str) -> float | None:
    part = judgments[judgments["field"] == field]
    return field_agreement(part, items, "per_worker")["krippendorff_alpha_nominal"].value


def _by_worker(
    people: list[Annotator], key: bytes, humans: dict[str, Review]
) -> list[dict[str, Any]]:
    """Merge a worker's tasks: the sternest action stands, each reason names its task."""
    by_worker: dict[str, list[Annotator]] = {}
    for person in people:
        by_worker.setdefault(person.worker_id, []).append(person)
    rows = []
    for worker_id, parts in sorted(by_worker.items()):
        # Of several tasks, the one with most peer comparisons gives the headline figures.
        judged = [p for p in parts if p.peer_agreement is not None]
        main = max(judged or parts, key=lambda p: p.items)
        recommended = max((p.action for p in parts), key=ACTIONS.index)
        person_says = humans.get(worker_id)
        rows.append(
            {
                "worker_id": worker_id,
                "pseudonym": pseudonym(key, worker_id),
                "simulated": any(p.simulated for p in parts),
                "tasks": [p.task for p in parts],
                "judgments": sum(p.judgments for p in parts),
                "items": sum(p.items for p in parts),
                "peer_agreement": main.peer_agreement,
                "peer_interval": (
                    None if main.peer_low is None else [main.peer_low, main.peer_high]
                ),
                "skill": main.skill,
                "median_seconds": main.median_seconds,
                "texts": sum(p.texts for p in parts),
                "copies": sum(p.copies for p in parts),
                "recommended": recommended,
                "action": person_says.decision if person_says else recommended,
                "decided_by": person_says.reviewer if person_says else AUDIT,
                "reasons": [f"{p.task}: {reason}" for p in parts for reason in p.reasons],
            }
        )
    return rows
