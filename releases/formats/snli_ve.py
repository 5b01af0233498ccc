"""SNLI-VE (Xie et al. 2019): SNLI whose premise is the Flickr30k photo, joined by our own rules.

Rules (section 3 of the paper and the published lists): a row is kept when its gold label is not
`-` and its pair id has no `vg_`; its image is the pair id up to `.jpg`; the split is that of the
image: the test list, the last 1,000 of the train-and-validation list, or the rest of that list.
SNLI's own split is ignored. Rows whose image is on no list are left out and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.formats.reading import (
    Published,
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

SPLITS = ("train", "val", "test")
_VALIDATION_IMAGES = 1_000  # the last ones of flickr30k_train_val.lst

_COLUMNS = {
    "annotator_labels": "annotator_labels",
    "captionID": "caption_id",
    "gold_label": "label",
    "pairID": "row_id",
    "sentence1": "premise",
    "sentence1_binary_parse": "premise_binary_parse",
    "sentence1_parse": "premise_parse",
    "sentence2": "hypothesis",
    "sentence2_binary_parse": "hypothesis_binary_parse",
    "sentence2_parse": "hypothesis_parse",
}
_PARSES = [key for key in _COLUMNS if key.endswith("parse")]
_IMAGE = "Flickr30K_ID"


def image_of(pair_id: str) -> str:
    """Return the Flickr30k image of an SNLI pair id: all before `.jpg`."""
    return pair_id.split(".jpg", 1)[0]


def image_splits(test: Path, train_and_val: Path) -> dict[str, str]:
    """Return image -> split from the two published lists.

    Raises:
        UserError: A list is too short, or an image is on both.
    """
    tested, rest = _list(test), _list(train_and_val)
    if len(rest) <= _VALIDATION_IMAGES:
        raise UserError(
            f"{train_and_val} has {len(rest):,} images.", "Expected flickr30k_train_val.lst."
        )
    found = dict.fromkeys(rest[:-_VALIDATION_IMAGES], "train")
    found |= dict.fromkeys(rest[-_VALIDATION_IMAGES:], "val")
    both = sorted(set(tested) & set(found))
    if both:
        raise UserError(f"{test} and {train_and_val} share {len(both):,} images: {both[0]} ...")
    return found | dict.fromkeys(tested, "test")


def read_snli_ve(paths: Sequence[Path], images: Mapping[str, str]) -> Published:
    """Read SNLI or SNLI-VE JSON Lines and join them with the splits of images.

    Args:
        images: Image -> split, see `image_splits`.

    Raises:
        UserError: A line is not of this form, or nothing is left.
    """
    rows: list[dict[str, Any]] = []
    judgments: list[dict[str, Any]] = []
    left_out = Counter[str]()
    read = 0
    for path in paths:
        for where, given in json_lines(path):
            refuse_unknown(where, given, [*_COLUMNS, _IMAGE])
            read += 1
            row = _row(where, given, read - 1)
            if row["label"] == "-":
                left_out["without gold label"] += 1
            elif "vg_" in row["row_id"]:
                left_out["about Visual Genome"] += 1
            elif row["image"] not in images:
                left_out["of images on no list"] += 1
            else:
                rows.append(row | {"split": images[row["image"]]})
                judgments += [
                    judgment(row["row_id"], "unknown", label, place, "", "import:snli")
                    for place, label in enumerate(row["annotator_labels"])
                ]
    if not rows:
        raise UserError(f"None of {read:,} rows can be joined with an image.", _said(left_out))
    unique_ids(rows, ", ".join(map(str, paths)))
    rows = _numbered(rows)
    funnel = {"rows read": read}
    for reason in ("without gold label", "about Visual Genome", "of images on no list"):
        funnel[f"rows not {reason}"] = list(funnel.values())[-1] - left_out[reason]
    return Published(
        kind=row_kind("snli-ve"),
        title="SNLI-VE: does the image entail the hypothesis?",
        citation="Xie et al. 2019, Visual Entailment: A Novel Task for Fine-Grained Image "
        "Understanding",
        license="CC-BY-SA-4.0",
        splits=SPLITS,
        rows=sorted_table(rows, row_kind("snli-ve").schema),
        judgments=judgments_table(judgments),
        attributions=[],
        funnel=funnel,
        measured={
            "images": len({row["image"] for row in rows}),
            "rows_left_out": dict(left_out),
            "by_split": {
                split: dict(
                    sorted(Counter(r["label"] for r in rows if r["split"] == split).items())
                )
                for split in SPLITS
            },
        },
    )


def write_snli_ve(release: Release, folder: Path) -> list[Path]:
    """Write one `snli_ve_<split>.jsonl` per split, keys as SNLI has them plus the image."""
    written = []
    for split in release.splits:
        path = folder / f"snli_ve_{split}.jsonl"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for row in release.rows(split).sort_by("source_position").to_pylist():
                line = {key: row[column] for key, column in _COLUMNS.items()}
                line = {k: v for k, v in line.items() if v is not None} | {_IMAGE: row["image"]}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        written.append(path)
    return written


def splits_of(files: Sequence[Path]) -> dict[str, str]:
    """Return image -> split of `snli_ve_<split>.jsonl` files: their names say the split.

    Raises:
        UserError: Another file name, a row without image, or an image in two splits.
    """
    found: dict[str, str] = {}
    for path in files:
        split = path.stem.removeprefix("snli_ve_").replace("dev", "val")
        if split not in SPLITS:
            raise UserError(
                f"{path}: the name does not say the split.",
                "Give SNLI-VE files (snli_ve_train.jsonl), or the lists of images "
                "(--test-images, --other-images).",
            )
        for where, given in json_lines(path):
            image = text_of(where, given, _IMAGE)
            if found.setdefault(image, split) != split:
                raise UserError(f"{where}: image {image} is in {found[image]} and {split}.")
    return found


def _row(where: str, given: dict[str, Any], position: int) -> dict[str, Any]:
    labels = given.get("annotator_labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise UserError(f"{where}: 'annotator_labels' is not a list of texts.")
    row: dict[str, Any] = {
        column: text_of(where, given, key)
        for key, column in _COLUMNS.items()
        if key != "annotator_labels" and key not in _PARSES
    }
    for key in _PARSES:
        row[_COLUMNS[key]] = text_of(where, given, key) if key in given else None
    image = image_of(row["row_id"])
    if given.get(_IMAGE, image) != image:
        raise UserError(f"{where}: {_IMAGE} is {given[_IMAGE]!r}, the pair id says {image!r}.")
    return row | {"annotator_labels": labels, "image": image, "source_position": position}


def _numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Number rows inside their split, so that writing and reading them again changes nothing."""
    places = Counter[str]()
    numbered = []
    for row in rows:
        numbered.append(row | {"source_position": places[row["split"]]})
        places[row["split"]] += 1
    return numbered


def _list(path: Path) -> list[str]:
    # The published test list has no final newline: lines are what is between newlines.
    return [line.strip() for line in path.read_text(encoding="ascii").splitlines() if line.strip()]


def _said(left_out: Mapping[str, int]) -> str:
    return "Left out: " + ", ".join(f"{n:,} {why}" for why, n in left_out.items()) + "."
