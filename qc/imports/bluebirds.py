"""The bluebirds data of Welinder et al. 2010 (labels.yaml, gt.yaml): 39 workers, 108 photos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import Item, Judgment
from pairs_to_words.qc.imports.finished_work import FinishedWork, storable, worker_name

TASK = "bluebirds"
_EXPECTED = "Expected {worker: {photo: true or false}}."


def read_bluebirds(path: Path) -> FinishedWork:
    """Read a folder with labels.yaml (and gt.yaml), or a labels.yaml with gt.yaml beside it.

    Raises:
        UserError: A file is missing or not of this form; the message names worker and photo.
    """
    labels_file = path / "labels.yaml" if path.is_dir() else path
    truth_file = labels_file.with_name("gt.yaml")
    truth = _mapping(truth_file, _read_yaml(truth_file)) if truth_file.exists() else {}
    judgments: list[Judgment] = []
    photos: dict[str, dict[str, Any]] = {}
    positions: dict[str, int] = {}
    for worker, given in _mapping(labels_file, _read_yaml(labels_file)).items():
        where = f"{labels_file} worker {worker}"
        for photo, label in _mapping(where, given).items():
            if not isinstance(label, bool):
                raise UserError(f"{where}, photo {photo}: the label is {label!r}.", _EXPECTED)
            item_id = storable(where, photo)
            gold = truth.get(photo)
            photos[item_id] = {} if gold is None else {"gold": {"label": _word(gold)}}
            position = positions.get(item_id, 0)
            positions[item_id] = position + 1
            judgments.append(
                Judgment(
                    TASK,
                    item_id,
                    "label",
                    worker_name(where, worker),
                    _word(label),
                    position=position,
                    source=f"import:bluebirds:{labels_file.name}",
                )
            )
    items = [Item(item_id, TASK, item_id, "", data) for item_id, data in photos.items()]
    return FinishedWork(TASK, items, judgments)


def _word(label: object) -> str:
    return str(label).lower()


def _read_yaml(path: Path) -> object:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", _EXPECTED) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        place = getattr(error, "problem_mark", None)
        line = f" line {place.line + 1}" if place else ""
        raise UserError(f"{path}{line}: not valid YAML.", _EXPECTED) from error


def _mapping(where: object, value: object) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{where}: {type(value).__name__} instead of a mapping.", _EXPECTED)
    return value
