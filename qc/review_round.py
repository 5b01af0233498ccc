"""A review round: which annotators' texts a person reads, and what that person decided.

The draw is frozen in reports/reviews/<round>.json, so that a second reviewer reads the same texts
without seeing the first one's decisions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_json, write_json
from pairs_to_words.project.layout import Layout, safe_name
from pairs_to_words.project.seeds import keyed_hash
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.judgments import read_items, read_judgments
from pairs_to_words.project.store.reviews import Review, add_reviews, current_reviews
from pairs_to_words.qc.agreement import cohen_kappa
from sqlalchemy import Engine

TEXT = "text"
"""`subject_kind` of decisions about a text; `subject_id` is its judgment id."""

ACCEPT, NEEDS_WORK, REJECT = "accept", "needs work", "reject"
DECISIONS = (ACCEPT, NEEDS_WORK, REJECT)


@dataclass(frozen=True)
class RoundText:
    """One text of a round, as the reviewer sees it (and whose it is, which they do not see)."""

    judgment_id: int
    item_id: str
    worker_id: str
    assignment_id: str
    text: str
    photos: tuple[str, ...]


@dataclass(frozen=True)
class Round:
    """A frozen draw of texts."""

    name: str
    task: str
    texts: tuple[RoundText, ...]


def draw_round(
    engine: Engine,
    layout: Layout,
    name: str,
    *,
    task: str,
    field: str,
    workers: int | None,
    texts: int,
    seed: int,
) -> Round:
    """Return the round, drawing it first when it is new.

    Args:
        name: Such as `pilot` or `1`.
        task, field: Where the texts are.
        workers: Annotators to draw; None takes all.
        texts: Texts per annotator (fewer where they wrote fewer).
        seed: Seed of the draw.

    Raises:
        UserError: Nothing is left to review.
    """
    path = _file(layout, name)
    if path.exists():
        return open_round(layout, name)
    seen = {
        text["judgment_id"]
        for other in path.parent.glob("*.json")
        for text in read_json(other)["texts"]
    }
    with engine.connect() as connection:
        frame = read_judgments(connection, task)
        photos = {item.item_id: _photos(item.data) for item in read_items(connection, task)}
    frame = frame[(frame["field"] == field) & ~frame["judgment_id"].isin(seen)]
    frame = frame.drop_duplicates(["item_id", "worker_id"], keep="last")
    by_worker: dict[str, list[dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        by_worker.setdefault(str(row["worker_id"]), []).append({str(k): v for k, v in row.items()})
    if not by_worker:
        raise UserError(
            f"No text of task {task} is left to review.", "Fetch some with `collect pull`."
        )
    chosen = sorted(by_worker, key=lambda w: keyed_hash(seed, "review", name, w))[:workers]
    drawn = [
        RoundText(
            int(row["judgment_id"]),
            str(row["item_id"]),
            worker,
            str(row["assignment_id"]),
            str(row["value"]),
            photos.get(str(row["item_id"]), ()),
        )
        for worker in chosen
        for row in sorted(
            by_worker[worker],
            key=lambda r: keyed_hash(seed, "review", name, worker, str(r["item_id"])),
        )[:texts]
    ]
    # Mixed, so that a reviewer cannot tell which texts are by one annotator.
    drawn.sort(key=lambda text: keyed_hash(seed, "order", name, text.judgment_id))
    made = Round(name, task, tuple(drawn))
    write_json(path, asdict(made))
    return made


def open_round(layout: Layout, name: str) -> Round:
    """Return a round that was drawn before.

    Raises:
        UserError: There is none of this name.
    """
    path = _file(layout, name)
    if not path.exists():
        raise UserError(
            f"There is no review round {name!r}.", "Start one with `collect review annotators`."
        )
    saved = read_json(path)
    rows = (RoundText(**row | {"photos": tuple(row["photos"])}) for row in saved["texts"])
    return Round(saved["name"], saved["task"], tuple(rows))


def decide_text(
    engine: Engine, round_: Round, judgment_id: int, reviewer: str, decision: str, note: str,
    clock: Clock,
) -> None:  # fmt: skip
    """Store one decision; a later one by the same reviewer replaces it.

    Raises:
        UserError: The text is not in the round, or no such decision.
    """
    if decision not in DECISIONS:
        raise UserError(f"There is no decision {decision!r}.", f"One of: {', '.join(DECISIONS)}.")
    if judgment_id not in {text.judgment_id for text in round_.texts}:
        raise UserError(f"Text {judgment_id} is not in round {round_.name}.")
    with transaction(engine) as connection:
        add_reviews(
            connection,
            [Review(TEXT, str(judgment_id), reviewer, decision, note[:4000], iso(clock()))],
        )


def decisions_of(engine: Engine, round_: Round, reviewer: str | None = None) -> dict[int, Review]:
    """Return judgment id -> decision in a round, of one reviewer or the latest of any."""
    with engine.connect() as connection:
        found = current_reviews(connection, TEXT, reviewer)
    wanted = {text.judgment_id for text in round_.texts}
    return {int(i): review for i, review in found.items() if int(i) in wanted}


def reviewer_agreement(engine: Engine, round_: Round, first: str, second: str) -> float | None:
    """Return Cohen's kappa of two reviewers on the texts that both decided."""
    one, two = (decisions_of(engine, round_, name) for name in (first, second))
    both = sorted(set(one) & set(two))
    return cohen_kappa([one[i].decision for i in both], [two[i].decision for i in both])


def summarise_round(engine: Engine, round_: Round) -> list[dict[str, Any]]:
    """Return one row per annotator: worker_id, texts, reviewed, and a count per decision."""
    decided = decisions_of(engine, round_)
    rows = []
    for worker in sorted({text.worker_id for text in round_.texts}):
        mine = [text.judgment_id for text in round_.texts if text.worker_id == worker]
        counted = Counter(decided[i].decision for i in mine if i in decided)
        rows.append(
            {"worker_id": worker, "texts": len(mine), "reviewed": sum(counted.values())}
            | {decision: counted[decision] for decision in DECISIONS}
        )
    return rows


def _file(layout: Layout, name: str) -> Path:
    return layout.reports / "reviews" / f"{safe_name(name, 'round')}.json"


def _photos(data: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(data[key]) for key in ("sha256_1", "sha256_2") if key in data)
