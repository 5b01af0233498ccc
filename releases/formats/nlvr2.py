"""NLVR2 (Suhr et al. 2019): JSON Lines with a sentence, two addresses, a label and validations.

Written back, a published part comes out byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.formats.reading import (
    Published,
    addresses,
    json_lines,
    judgment,
    judgments_table,
    refuse_unknown,
    sorted_table,
    text_of,
    unique_ids,
)
from pairs_to_words.releases.read import Release
from pairs_to_words.releases.schemas import row_kind

# The order of keys in the published files; `directory` and no addresses: the training part.
_KEYS = (
    "validation",
    "sentence",
    "left_url",
    "writer",
    "label",
    "right_url",
    "synset",
    "query",
    "identifier",
    "directory",
    "extra_validations",
)
_PHASES = (("validation", "original"), ("extra_validations", "later"))
_ORDER = ("train", "dev", "test1", "test2")


def read_nlvr2(paths: Sequence[Path]) -> Published:
    """Read parts of NLVR2; the split is the first part of each identifier.

    Raises:
        UserError: A line is not of this form; the message names file, line and key.
    """
    rows: list[dict[str, Any]] = []
    judgments: list[dict[str, Any]] = []
    for path in paths:
        for position, (where, given) in enumerate(json_lines(path)):
            refuse_unknown(where, given, _KEYS)
            rows.append(_row(where, given, position))
            judgments += _judgments(where, given)
    unique_ids(rows, ", ".join(map(str, paths)))
    table = sorted_table(rows, row_kind("nlvr2").schema)
    present = {row["split"] for row in rows}
    splits = tuple(s for s in _ORDER if s in present) + tuple(sorted(present - set(_ORDER)))
    return Published(
        kind=row_kind("nlvr2"),
        title="NLVR2: is the sentence true of the two photographs?",
        citation="Suhr et al. 2019, A Corpus for Reasoning About Natural Language Grounded in "
        "Photographs (ACL)",
        license="CC-BY-4.0",
        splits=splits,
        rows=table,
        judgments=judgments_table(judgments),
        attributions=addresses([row[k] for row in rows for k in ("left_url", "right_url")]),
        funnel={"rows read": len(rows)},
        measured={"by_split": {split: _measure(table, split) for split in splits}},
    )


def write_nlvr2(release: Release, folder: Path) -> list[Path]:
    """Write one `<split>.json` per split, rows in the order of the published file."""
    given: dict[tuple[str, str], dict[str, str]] = {}
    for row in release.judgments().to_pylist():
        given.setdefault((row["item_id"], row["phase"]), {})[row["worker"]] = row["value"]
    written = []
    for split in release.splits:
        path = folder / f"{split}.json"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for row in release.rows(split).sort_by("source_position").to_pylist():
                file.write(json.dumps(_line(row, given)) + "\n")
        written.append(path)
    return written


def _row(where: str, given: dict[str, Any], position: int) -> dict[str, Any]:
    identifier = text_of(where, given, "identifier")
    parts = identifier.split("-")
    if len(parts) != 4:
        raise UserError(f"{where}: identifier {identifier!r} is not split-set-pair-sentence.")
    split, image_set, pair, sentence = parts
    directory = given.get("directory")
    if directory is not None and not isinstance(directory, int):
        raise UserError(f"{where}: 'directory' is {type(directory).__name__}, not a number.")
    return {
        "row_id": identifier,
        "image_set": f"{split}-{image_set}",
        "image_pair": f"{split}-{image_set}-{pair}",
        "consistency_group": f"{split}-{image_set}--{sentence}",
        "sentence": text_of(where, given, "sentence"),
        "label": text_of(where, given, "label"),
        "left_url": text_of(where, given, "left_url") if "left_url" in given else None,
        "right_url": text_of(where, given, "right_url") if "right_url" in given else None,
        "directory": directory,
        "synset": text_of(where, given, "synset"),
        "query": text_of(where, given, "query"),
        "writer": text_of(where, given, "writer") if "writer" in given else None,
        "split": split,
        "source_position": position,
    }


def _judgments(where: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for key, phase in _PHASES:
        answers = given.get(key, {})
        if not isinstance(answers, dict):
            raise UserError(f"{where}: {key!r} is {type(answers).__name__}, not worker: label.")
        for worker in answers:
            label = text_of(f"{where} {key}", answers, worker)
            found.append(
                judgment(given["identifier"], worker, label, len(found), phase, "import:nlvr2")
            )
    return found


def _line(row: dict[str, Any], given: dict[tuple[str, str], dict[str, str]]) -> dict[str, Any]:
    values = {key: row.get(key) for key in _KEYS} | {"identifier": row["row_id"]}
    for key, phase in _PHASES:
        values[key] = given.get((row["row_id"], phase))
    return {key: values[key] for key in _KEYS if values[key] is not None}


def _measure(rows: pa.Table, split: str) -> dict[str, Any]:
    frame = rows.to_pandas()
    frame = frame[frame["split"] == split]
    return {
        "rows": len(frame),
        "unique_sentences": int(frame["sentence"].nunique()),
        "image_sets": int(frame["image_set"].nunique()),
        "image_pairs": int(frame["image_pair"].nunique()),
        "consistency_groups": int(frame["consistency_group"].nunique()),
        "synsets": int(frame["synset"].nunique()),
        "true": int((frame["label"] == "True").sum()),
    }
