"""Measure a release: every number on its card comes from here."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pairs_to_words.project.protocol import ProtocolDeclaration, ReleaseRule
from pairs_to_words.project.records import LEVELS, VISUAL
from pairs_to_words.project.store.judgments import read_items, read_judgments, read_verdicts
from pairs_to_words.project.store.tables import ledger
from pairs_to_words.qc.audit import field_agreement
from pairs_to_words.releases.rows import Gathered
from pairs_to_words.releases.schemas import row_kind
from pairs_to_words.releases.tally import count as _count
from pairs_to_words.releases.tally import rounded as _rounded
from pairs_to_words.releases.tally import tally
from sqlalchemy import Connection, func, select


def measure(
    connection: Connection, gathered: Gathered, rule: ReleaseRule, protocol: ProtocolDeclaration
) -> dict[str, Any]:
    """Return flat numbers and mappings that describe a release."""
    rows = gathered.paragraphs.to_pylist()
    levels = (VISUAL, *LEVELS)
    found: dict[str, Any] = tally(row_kind("paragraphs"), gathered.paragraphs, list(rule.splits))
    found |= {
        "pairs": len({row["pair_id"] for row in rows}),
        "texts_per_pair": _rounded(len(rows) / len({row["pair_id"] for row in rows})),
        "writers": len({row["writer"] for row in rows}),
        "photos": len(gathered.attributions),
        "pivot_species": len({row["photo_1_species_id"] for row in rows}),
        "species": len({row[f"photo_{side}_species_id"] for row in rows for side in (1, 2)}),
        "judgments": gathered.judgments.num_rows,
        "simulated_texts": sum(row["simulated"] for row in rows),
        "pairs_by_split": _count(
            {row["pair_id"]: row["split"] for row in rows}.values(), list(rule.splits)
        ),
        "texts_by_level": _count((row["level_requested"] for row in rows), levels),
        "photo_licenses": _count(row["license"] for row in gathered.attributions),
        "funnel": gathered.funnel,
        "agreement": _agreement(connection, rule, protocol),
    }
    if cost := _cost(connection):
        found["cost_usd"] = cost
        found["cost_usd_per_text"] = _rounded(sum(cost.values()) / len(rows))
    return found


def _agreement(
    connection: Connection, rule: ReleaseRule, protocol: ProtocolDeclaration
) -> dict[str, float | None]:
    """Return alpha of each label field of the required tasks, on all items and on those kept."""
    found: dict[str, float | None] = {}
    for task in rule.requires:
        items = read_items(connection, task)
        verdicts = read_verdicts(connection, task)
        rows = read_judgments(connection, task)
        for field in protocol.task(task).fields:
            if field.kind != "label":
                continue
            part = rows[rows["field"] == field.name]
            kept = part[
                [
                    verdicts.get(i) is not None and verdicts[i].verdict == "pass"
                    for i in part["item_id"]
                ]
            ]
            for name, chosen in (("all items", part), ("kept items", kept)):
                result = field_agreement(chosen, items, "per_worker", field.level)
                value = result[f"krippendorff_alpha_{field.level}"].value
                found[f"{task} {field.name}, {name}"] = _rounded(value, 6)
    return found


def _cost(connection: Connection) -> dict[str, float]:
    """Return kind of confirmed payment -> USD, fees included."""
    query = (
        select(ledger.c.kind, func.sum(ledger.c.amount + ledger.c.fee))
        .where(ledger.c.state == "confirmed")
        .group_by(ledger.c.kind)
        .order_by(ledger.c.kind)
    )
    paid = {row[0]: float(Decimal(row[1])) for row in connection.execute(query)}
    return {kind: round(amount, 2) for kind, amount in paid.items() if amount}
