"""Gather a release's rows: usable texts about image pairs that passed, with their photos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pairs_to_words.project.config import Config
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import ProtocolDeclaration, ReleaseRule
from pairs_to_words.project.pseudonyms import pseudonym
from pairs_to_words.project.records import PARAGRAPHS
from pairs_to_words.project.store.judgments import read_items, read_judgments, read_verdicts
from pairs_to_words.project.store.reviews import current_reviews, excluded_annotators
from pairs_to_words.project.store.submissions import rejected_assignments
from pairs_to_words.releases.leaks import near_duplicates, normalised
from pairs_to_words.releases.splits import split_pairs
from pairs_to_words.releases.tombstones import Tombstone, observer_hash, photo_hash, writer_hash
from sqlalchemy import Connection

_NAMED = 10  # photos that an error lists before it says how many more

JUDGMENTS = pa.schema(
    [
        pa.field("task", pa.string(), nullable=False),
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("unit_id", pa.string(), nullable=False),
        pa.field("field", pa.string(), nullable=False),
        pa.field("worker", pa.string(), nullable=False),
        pa.field("value", pa.string(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("phase", pa.string(), nullable=False),
        pa.field("submitted_at", pa.string(), nullable=False),
        pa.field("work_seconds", pa.float64()),
        pa.field("source", pa.string(), nullable=False),
        pa.field("simulated", pa.bool_(), nullable=False),
    ]
)
"""judgments.parquet: every raw judgment of the protocol's tasks, workers by pseudonym."""


@dataclass(frozen=True)
class Gathered:
    """Everything that a release holds, before it is written.

    Attributes:
        paragraphs: Schema PARAGRAPHS, sorted by row_id; all splits together.
        judgments: Schema JUDGMENTS, sorted.
        attributions: One row per released photo.
        funnel: How many units and texts were left after each step, in order.
        worker_ids: Everybody who judged; must not appear anywhere in the release.
    """

    paragraphs: pa.Table
    judgments: pa.Table
    attributions: list[dict[str, Any]]
    funnel: dict[str, int]
    worker_ids: frozenset[str]


def gather(
    connection: Connection,
    layout: Layout,
    config: Config,
    protocol: ProtocolDeclaration,
    rule: ReleaseRule,
    sample: str,
    key: bytes,
    *,
    pinned: Mapping[str, str] | None = None,
    tombstones: Sequence[Tombstone] = (),
) -> Gathered:
    """Collect the rows of a release from the state, the sample and the catalogue.

    A text is usable when its submission was not rejected, its writer is not excluded, and every
    required task's verdict on its pair is `pass`. A worker's last text about an item counts.
    What is buried (`tombstones`) is left out of texts, judgments and attributions.

    Args:
        pinned: Pair id to its split in the release before: it stays there.
        tombstones: What was removed for good.

    Raises:
        UserError: Nothing to release, or photos without a licence that may be released.
    """
    pairs = {
        str(row["pair_id"]): row
        for row in read_parquet(layout.sample(sample) / "pairs.parquet").to_pylist()
    }
    funnel = {"pairs sampled": len(pairs)}
    buried = frozenset(stone.hash for stone in tombstones)
    removed = _pairs_with_removed_photos(layout, pairs, buried, key)
    if buried:
        pairs = {name: pair for name, pair in pairs.items() if name not in removed}
        funnel["pairs of photos not removed"] = len(pairs)
    passed = set(pairs)
    for task in rule.requires:
        units = {item.item_id: item.unit_id for item in read_items(connection, task)}
        verdicts = read_verdicts(connection, task)
        passed &= {units[i] for i, v in verdicts.items() if v.verdict == "pass" and i in units}
        funnel[f"pairs that pass {task}"] = len(passed)
    texts = _usable_texts(connection, rule, passed, funnel)
    if buried:
        gone = [writer_hash(pseudonym(key, worker)) in buried for worker in texts["worker_id"]]
        texts = texts[~np.array(gone, bool)]
        funnel["texts by writers not removed"] = len(texts)
    if texts.empty:
        raise UserError(
            f"There is no text to release: {_say(funnel)}.",
            f"Collect some with `collect launch {rule.text_task}` and `collect pull`.",
        )
    photos = _photos(layout, pairs, set(texts["pair_id"]), config.release.licenses)
    rows = _paragraphs(texts, pairs, photos, rule, config, key, pinned or {})
    rows = _without_repeats(rows, rule, funnel)
    funnel["texts released"] = rows.num_rows
    funnel["pairs released"] = len(set(rows["pair_id"].to_pylist()))
    judgments, workers = _judgments(connection, protocol, key, removed, buried)
    used = sorted({i for side in (1, 2) for i in rows[f"photo_{side}_id"].to_pylist()})
    return Gathered(rows, judgments, [_attribution(photos[i]) for i in used], funnel, workers)


def _usable_texts(
    connection: Connection, rule: ReleaseRule, passed: set[str], funnel: dict[str, int]
) -> pd.DataFrame:
    rows = read_judgments(connection, rule.text_task)
    rows = rows[rows["field"] == rule.text_field]
    rows = rows.drop_duplicates(["item_id", "worker_id"], keep="last")
    units = {item.item_id: item.unit_id for item in read_items(connection, rule.text_task)}
    rows = rows.assign(pair_id=rows["item_id"].map(units))
    funnel["texts written"] = len(rows)
    rows = rows[~rows["assignment_id"].isin(rejected_assignments(connection))]
    funnel["texts not rejected"] = len(rows)
    rows = rows[~rows["worker_id"].isin(list(excluded_annotators(connection)))]
    funnel["texts by annotators not excluded"] = len(rows)
    refused = [
        int(i) for i, r in current_reviews(connection, "text").items() if r.decision == "reject"
    ]
    rows = rows[~rows["judgment_id"].isin(refused)]
    funnel["texts not rejected in a review"] = len(rows)
    rows = rows[rows["pair_id"].isin(passed) & (rows["value"].str.strip() != "")]
    funnel["texts about pairs that pass"] = len(rows)
    return rows


def _photos(
    layout: Layout, pairs: dict[str, dict[str, Any]], wanted: set[str], licenses: list[str]
) -> dict[int, dict[str, Any]]:
    """Return photo id -> its catalogue row with species, sha256 and phash."""
    needed = {pairs[p][f"{side}_photo_id"] for p in wanted for side in ("pivot", "branch")}
    found = {
        row["photo_id"]: row
        for row in read_parquet(layout.catalog / "photos.parquet").to_pylist()
        if row["photo_id"] in needed
    }
    files = {
        row["photo_id"]: row
        for row in read_parquet(layout.photos / "index.parquet").to_pylist()
        if row["photo_id"] in needed
    }
    taxa = {
        row["species_id"]: row for row in read_parquet(layout.catalog / "taxa.parquet").to_pylist()
    }
    _refuse(needed - set(found), "are not in the catalogue", "Build the catalogue again.")
    _refuse(needed - set(files), "have no file", "Fetch them with `collect photos`.")
    unlicensed = {i for i in needed if found[i]["license"] not in licenses}
    named = sorted({str(found[i]["license"] or "none") for i in unlicensed})
    _refuse(
        unlicensed,
        f"have a licence that may not be released ({', '.join(named)})",
        "Leave their pairs out, or add the licence to `licenses` under [release].",
    )
    unnamed = {i for i in needed if not found[i]["attribution"].strip()}
    _refuse(unnamed, "have no attribution", "Correct the catalogue.")
    return {
        i: found[i]
        | {key: files[i][key] for key in ("sha256", "phash")}
        | {key: taxa[found[i]["species_id"]][key] for key in ("species", "common_name")}
        for i in needed
    }


def _refuse(photo_ids: set[int], what: str, hint: str) -> None:
    if not photo_ids:
        return
    named = ", ".join(str(i) for i in sorted(photo_ids)[:_NAMED])
    more = f" and {len(photo_ids) - _NAMED:,} more" if len(photo_ids) > _NAMED else ""
    raise UserError(f"{len(photo_ids):,} photos {what}: {named}{more}.", hint)


def _paragraphs(
    texts: pd.DataFrame,
    pairs: dict[str, dict[str, Any]],
    photos: dict[int, dict[str, Any]],
    rule: ReleaseRule,
    config: Config,
    key: bytes,
    pinned: Mapping[str, str],
) -> pa.Table:
    used = {pair_id: pairs[pair_id] for pair_id in sorted(set(texts["pair_id"]))}
    near = _near(photos)
    splits = split_pairs(
        {pair_id: list(_unshared(pair, photos, near)) for pair_id, pair in used.items()},
        {pair_id: int(pair[rule.split_key]) for pair_id, pair in used.items()},
        rule.splits,
        config.project.seed,
        pinned,
    )
    rows = []
    for text in texts[texts["pair_id"].isin(splits)].to_dict("records"):
        pair = used[text["pair_id"]]
        writer = pseudonym(key, text["worker_id"])
        row = {
            "row_id": f"{text['pair_id']}-{writer}",
            "pair_id": text["pair_id"],
            "text": text["value"],
            "writer": writer,
            "simulated": bool(text["simulated"]),
            "split": splits[text["pair_id"]],
            "level_requested": pair["level_requested"],
            "level_actual": pair["level_actual"],
        }
        for side, name in ((1, "pivot"), (2, "branch")):
            photo = photos[pair[f"{name}_photo_id"]]
            row |= {
                f"photo_{side}_id": photo["photo_id"],
                **{
                    f"photo_{side}_{column}": photo[column]
                    for column in (
                        "sha256",
                        "url",
                        "license",
                        "attribution",
                        "species_id",
                        "species",
                        "common_name",
                    )
                },
            }
        rows.append(row)
    return pa.Table.from_pylist(sorted(rows, key=lambda r: str(r["row_id"])), schema=PARAGRAPHS)


def _without_repeats(rows: pa.Table, rule: ReleaseRule, funnel: dict[str, int]) -> pa.Table:
    """Leave out a text that another split has too: it stays in the split of the least share."""
    order = {split: place for place, split in enumerate(sorted(rule.splits, key=_share_of(rule)))}
    frame = pd.DataFrame(
        {
            "text": normalised(rows["text"]).to_pylist(),
            "place": [order[split] for split in rows["split"].to_pylist()],
        }
    )
    kept = (frame["place"] == frame.groupby("text")["place"].transform("min")).to_numpy()
    funnel["texts not repeated in another split"] = int(kept.sum())
    return rows.filter(pa.array(kept))


def _share_of(rule: ReleaseRule) -> Any:
    """Smallest share first; of equal shares the one declared last (test before val)."""
    names = list(rule.splits)
    return lambda split: (rule.splits[split], -names.index(split))


def _pairs_with_removed_photos(
    layout: Layout, pairs: Mapping[str, dict[str, Any]], buried: frozenset[str], key: bytes
) -> frozenset[str]:
    if not buried:
        return frozenset()
    columns = ["photo_id", "observer_id"]
    removed = {
        row["photo_id"]
        for row in read_parquet(layout.catalog / "photos.parquet", columns).to_pylist()
        if observer_hash(key, row["observer_id"]) in buried
    }
    return frozenset(
        name
        for name, pair in pairs.items()
        for photo_id in (pair["pivot_photo_id"], pair["branch_photo_id"])
        if photo_id in removed or photo_hash(photo_id) in buried
    )


def _near(photos: dict[int, dict[str, Any]]) -> dict[int, list[int]]:
    """Return photo id -> numbers of the near-duplicate couples that it is one of."""
    ids = sorted(i for i, photo in photos.items() if photo["phash"])
    found: dict[int, list[int]] = {}
    hashes = np.array([photos[i]["phash"] for i in ids], np.uint64)
    for number, couple in enumerate(near_duplicates(hashes)):
        for place in couple:
            found.setdefault(ids[place], []).append(number)
    return found


def _unshared(
    pair: dict[str, Any], photos: dict[int, dict[str, Any]], near: dict[int, list[int]]
) -> Iterable[tuple[str, int | str]]:
    """Yield what may not be in two splits: pivot species, photos, observations, images."""
    yield "pivot species", int(pair["pivot_species_id"])
    for side in ("pivot", "branch"):
        photo = photos[pair[f"{side}_photo_id"]]
        yield "photo", int(photo["photo_id"])
        yield "observation", int(photo["observation_id"])
        yield "file", str(photo["sha256"])
        for couple in near.get(photo["photo_id"], ()):
            yield "near-duplicate image", couple


def _judgments(
    connection: Connection,
    protocol: ProtocolDeclaration,
    key: bytes,
    removed: frozenset[str],
    buried: frozenset[str],
) -> tuple[pa.Table, frozenset[str]]:
    rows = []
    workers: set[str] = set()
    for task in sorted(protocol.tasks):
        units = {item.item_id: item.unit_id for item in read_items(connection, task)}
        frame = read_judgments(connection, task)
        workers |= set(frame["worker_id"])
        names = {worker: pseudonym(key, worker) for worker in frame["worker_id"].unique()}
        for row in frame.to_dict("records"):
            unit_id = units.get(row["item_id"], row["item_id"])
            if unit_id in removed or (buried and writer_hash(names[row["worker_id"]]) in buried):
                continue
            seconds = row["work_seconds"]
            rows.append(
                {name: row[name] for name in JUDGMENTS.names if name in row}
                | {
                    "unit_id": unit_id,
                    "worker": names[row["worker_id"]],
                    "simulated": bool(row["simulated"]),
                    "work_seconds": None if pd.isna(seconds) else float(seconds),
                }
            )
    order = ("task", "item_id", "field", "position", "submitted_at", "worker", "source", "phase")
    rows.sort(key=lambda row: tuple(row[name] for name in order))
    return pa.Table.from_pylist(rows, schema=JUDGMENTS), frozenset(workers)


def _attribution(photo: dict[str, Any]) -> dict[str, Any]:
    return {
        "photo_id": photo["photo_id"],
        "license": photo["license"],
        "attribution": photo["attribution"],
        "url": photo["url"],
        "observer": photo["observer_name"],
        "species": photo["species"],
        "sha256": photo["sha256"],
        "phash": f"{photo['phash']:016x}",
    }


def _say(funnel: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in funnel.items())
