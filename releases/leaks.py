"""What may not be shared between splits, what must not get out, and a search for both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.schemas import RowKind

NEAR = 4
"""Perceptual hashes that differ in at most so many of 64 bits show the same picture
(sampling-definitions 5.3, row 5)."""

_TELLING = 8
"""Shorter worker ids (imported data has `61`) occur by chance and identify nobody here."""

_NAMED = 5


def find_leaks(
    kind: RowKind, rows: pa.Table, attributions: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return what splits share: `blocking` with all shared values, `informative` with counts.

    Each kind of leak has `shared` (how many values are in two splits or more) and `between`
    (how many each two splits share).

    Args:
        attributions: With `photo_id` and `phash` (16 hex digits) also near-duplicate images are
            looked for.
    """
    found: dict[str, Any] = {"blocking": {}, "informative": {}}
    for strength, columns in (("blocking", kind.blocking), ("informative", kind.informative)):
        for name, held in columns.items():
            shared = _shared(rows, held, normalise=name == "text")
            report = {"shared": len(shared), "between": _between(shared)}
            if strength == "blocking":
                report["values"] = sorted(map(str, shared))
            found[strength][name] = report
    hashed = {str(a["photo_id"]): int(a["phash"], 16) for a in attributions if a.get("phash")}
    if hashed and "photo_1_id" in rows.column_names:
        found["blocking"]["near-duplicate image"] = _near_leaks(rows, hashed)
    return found


def _near_leaks(rows: pa.Table, hashed: Mapping[str, int]) -> dict[str, Any]:
    """Report couples of photos in different splits whose perceptual hashes are near."""
    split: dict[str, str] = {}
    for name in ("photo_1_id", "photo_2_id"):
        couples = rows.select([name, "split"]).group_by([name, "split"]).aggregate([])
        split |= {str(row[name]): row["split"] for row in couples.to_pylist()}
    ids = sorted(i for i in hashed if hashed[i] and i in split)
    shared = {}
    for first, second in near_duplicates(np.array([hashed[i] for i in ids], np.uint64)):
        splits = {split[ids[first]], split[ids[second]]}
        if len(splits) > 1:
            shared[f"{ids[first]} and {ids[second]}"] = tuple(sorted(splits))
    return {"shared": len(shared), "between": _between(shared), "values": sorted(shared)}


def refuse_leaks(leaks: Mapping[str, Any]) -> None:
    """Stop when splits share what they may not.

    Raises:
        UserError: They do; the message counts and names some.
    """
    parts = []
    for name, report in leaks["blocking"].items():
        if report["shared"]:
            between = ", ".join(f"{n:,} in {pair}" for pair, n in report["between"].items())
            named = ", ".join(report["values"][:_NAMED])
            parts.append(f"{report['shared']:,} of kind {name} ({between}: {named} ...)")
    if parts:
        raise UserError(
            f"Splits share what they may not: {'; '.join(parts)}.",
            "Correct the splits, or take them as published with `--allow-leaks`.",
        )


def normalised(texts: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return texts without case, punctuation and spacing: what counts as the same text."""
    spaced = pc.replace_substring_regex(pc.utf8_lower(texts), r"[^\p{L}\p{N}]+", " ")
    return pc.utf8_trim_whitespace(spaced)


def near_duplicates(hashes: np.ndarray) -> list[tuple[int, int]]:
    """Return index pairs of 64-bit hashes that differ in at most NEAR bits.

    Five bands: two hashes that differ in four bits are equal in one band at least.
    """
    hashes = hashes.astype(np.uint64)
    found: set[tuple[int, int]] = set()
    for start, width in ((0, 13), (13, 13), (26, 13), (39, 13), (52, 12)):
        band = (hashes >> np.uint64(start)) & np.uint64((1 << width) - 1)
        order = np.argsort(band, kind="stable")
        edges = np.flatnonzero(np.diff(band[order])) + 1
        for bucket in np.split(order, edges):
            for place, first in enumerate(bucket[:-1]):
                rest = bucket[place + 1 :]
                near = rest[np.bitwise_count(hashes[rest] ^ hashes[first]) <= NEAR]
                found |= {(min(first, i), max(first, i)) for i in near}
    return sorted((int(a), int(b)) for a, b in found)


def refuse_worker_ids(tables: Mapping[str, tuple[pa.Table, str]], ids: Iterable[str]) -> None:
    """Search every text value for worker ids.

    Args:
        tables: Name -> table and the column that names its rows.
        ids: Everybody who worked.

    Raises:
        UserError: One was found; the message names table, column and row.
    """
    pattern = _pattern(ids)
    if pattern is None:
        return
    for name, (table, key) in tables.items():
        for column in table.schema:
            if not pa.types.is_string(column.type):
                continue
            for number, value in enumerate(table[column.name].to_pylist()):
                if value and pattern.search(value.encode("utf-8", "surrogatepass")):
                    raise UserError(
                        f"{name}, {key} {table[key][number]}: column {column.name} contains a "
                        f"worker id.",
                        "A release shows pseudonyms only: correct that text.",
                    )


def refuse_secrets_in_files(folder: Path, ids: Iterable[str], secret: str) -> None:
    """Search file names, text files and Parquet metadata for worker ids and the secret.

    Raises:
        UserError: One was found; the message names the file, never what was found.
    """
    pattern = _pattern([*ids, secret])
    if pattern is None:
        return
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".parquet":
            content = str(pq.read_schema(path).metadata).encode()
        else:
            content = path.read_bytes()
        if pattern.search(name.encode()) or pattern.search(content):
            raise UserError(f"{name} would hold a worker id or the project's secret.")


def _pattern(ids: Iterable[str]) -> re.Pattern[bytes] | None:
    telling = sorted({i for i in ids if len(i) >= _TELLING})
    return re.compile(b"|".join(re.escape(i.encode()) for i in telling)) if telling else None


def _shared(
    rows: pa.Table, columns: tuple[str, ...], *, normalise: bool
) -> dict[Any, tuple[str, ...]]:
    """Return value -> the splits that it is in, for values in two splits or more."""
    parts = []
    for name in columns:
        values = normalised(rows[name]) if normalise else rows[name]
        part = pa.table({"value": values, "split": rows["split"]})
        parts.append(
            part.filter(part["value"].is_valid()).group_by(["value", "split"]).aggregate([])
        )
    held = pa.concat_tables(parts).group_by(["value", "split"]).aggregate([])
    counted = held.group_by("value").aggregate([("split", "count")])
    several = counted.filter(pc.greater(counted["split_count"], 1))["value"]
    found: dict[Any, list[str]] = {}
    for row in held.filter(pc.is_in(held["value"], several.combine_chunks())).to_pylist():
        found.setdefault(row["value"], []).append(row["split"])
    return {value: tuple(sorted(splits)) for value, splits in found.items()}


def _between(shared: Mapping[Any, tuple[str, ...]]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for splits in shared.values():
        for pair in combinations(splits, 2):
            name = " and ".join(pair)
            counted[name] = counted.get(name, 0) + 1
    return dict(sorted(counted.items()))
