"""Which items a task asks about: pairs of a sample, those that passed before, or texts."""

from __future__ import annotations

from typing import Any

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import Task
from pairs_to_words.project.records import Item
from pairs_to_words.project.seeds import keyed_hash
from pairs_to_words.project.store.judgments import read_judgments, read_verdicts
from sqlalchemy import Connection


def items_of(
    connection: Connection, layout: Layout, task_name: str, task: Task, sample: str, seed: int
) -> list[Item]:
    """Return the items that a task can ask about now, spread over the pivots.

    A task with `after` gets the units that passed that task; a task with `shows` gets one item
    per text of that kind, about the same unit.

    Raises:
        UserError: The sample or the photos are not there.
    """
    pairs = _pairs(layout, task_name, sample, seed)
    if task.after:
        verdicts = read_verdicts(connection, task.after)
        passed = {item_id for item_id, verdict in verdicts.items() if verdict.verdict == "pass"}
        pairs = [item for item in pairs if item.unit_id in passed]
    if not task.shows:
        return pairs
    return _texts(connection, task_name, task.shows, pairs)


def _pairs(layout: Layout, task_name: str, sample: str, seed: int) -> list[Item]:
    path = layout.sample(sample) / "pairs.parquet"
    if not path.exists():
        raise UserError(
            f"There is no sample {sample!r}.", "Draw it with `collect sample --pivots 405 --k 12`."
        )
    index_path = layout.photos / "index.parquet"
    if not index_path.exists():
        raise UserError("The project has no photos.", "Get them with `collect catalog`.")
    index = read_parquet(index_path, ["photo_id", "sha256"])
    hashes = dict(zip(index["photo_id"].to_pylist(), index["sha256"].to_pylist(), strict=True))
    columns = ["pair_id", "pivot_index", "pivot_photo_id", "branch_photo_id"]
    rows = read_parquet(path, columns).to_pylist()
    return [_item(task_name, row, hashes) for row in _spread(rows, seed)]


def _spread(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Order pairs so that any first N of them touch as many pivots as possible, by keyed draw."""
    keyed = sorted(rows, key=lambda row: keyed_hash(seed, "launch", row["pair_id"]))
    turn: dict[int, int] = {}
    turns = []
    for row in keyed:
        pivot = row["pivot_index"]
        turns.append(turn.get(pivot, 0))
        turn[pivot] = turns[-1] + 1
    order = sorted(range(len(keyed)), key=lambda i: (turns[i], i))
    return [keyed[i] for i in order]


def _item(task_name: str, row: dict[str, Any], hashes: dict[int, str]) -> Item:
    data: dict[str, Any] = {}
    for number, photo_id in enumerate((row["pivot_photo_id"], row["branch_photo_id"]), start=1):
        if photo_id not in hashes:
            raise UserError(
                f"Photo {photo_id} of pair {row['pair_id']} has no file.",
                "Get the photos with `collect catalog`, or draw the sample again.",
            )
        data[f"photo_{number}"] = photo_id
        data[f"sha256_{number}"] = hashes[photo_id]
    return Item(row["pair_id"], task_name, row["pair_id"], data=data)


def _texts(connection: Connection, task_name: str, shows: str, pairs: list[Item]) -> list[Item]:
    writing, field = shows.split(".")
    judgments = read_judgments(connection, writing)
    judgments = judgments[judgments["field"] == field]
    by_unit: dict[str, list[tuple[str, str]]] = {}
    for item_id, assignment, value in zip(
        judgments["item_id"], judgments["assignment_id"], judgments["value"], strict=True
    ):
        by_unit.setdefault(item_id, []).append((assignment, value))
    return [
        Item(
            f"{pair.unit_id}:{assignment}",
            task_name,
            pair.unit_id,
            cluster=pair.unit_id,
            data={**pair.data, "text": value, "text_assignment": assignment},
        )
        for pair in pairs
        for assignment, value in by_unit.get(pair.unit_id, [])
    ]
