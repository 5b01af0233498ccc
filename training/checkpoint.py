"""Checkpoints: one safetensors file each, written atomically, refused when they do not fit.

models/<run>/checkpoints/last.safetensors   model, optimiser and where the loop stands
models/<run>/checkpoints/best.safetensors   the model with the best validation score
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.files import atomic_path
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

FORMAT = 1


def save_checkpoint(
    path: Path,
    model: nn.Module,
    facts: dict[str, Any],
    optimiser: torch.optim.Optimizer | None = None,
) -> None:
    """Write the model, the optimiser's state and JSON-able `facts`, whole or not at all."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    if optimiser is not None:
        tensors |= _optimiser_tensors(optimiser)
    # A tensor that shares memory with another would be refused: each gets its own.
    tensors = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    metadata = {"facts": json.dumps(facts | {"format": FORMAT}, sort_keys=True)}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata=metadata)


def read_facts(path: Path) -> dict[str, Any]:
    """Return a checkpoint's facts without loading its tensors.

    Raises:
        CouldNotError: The file is missing or damaged.
    """
    return _open(path)[1]


def load_checkpoint(
    path: Path,
    model: nn.Module,
    *,
    vocabulary: str,
    optimiser: torch.optim.Optimizer | None = None,
) -> dict[str, Any]:
    """Load a checkpoint into `model` (and `optimiser`) in place; return its facts.

    Args:
        path: The file.
        model: A model of the same shape.
        vocabulary: The key of the vocabulary in use.
        optimiser: Also restored when given.

    Raises:
        CouldNotError: The file is missing, damaged, of another vocabulary or of another model.
    """
    tensors, facts = _open(path)
    if facts.get("vocabulary") != vocabulary:
        raise CouldNotError(
            f"{path} was trained with another vocabulary than the run's vocabulary.json.",
            "Restore both files from the same run.",
        )
    weights = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    expected = model.state_dict()
    wrong = sorted(weights.keys() ^ expected.keys()) or [
        name for name, tensor in weights.items() if tensor.shape != expected[name].shape
    ]
    if wrong:
        raise CouldNotError(
            f"{path} does not fit the run's configuration: {wrong[0]} differs.",
            "config.json and the checkpoint must come from the same run.",
        )
    model.load_state_dict(weights)
    if optimiser is not None:
        _restore_optimiser(optimiser, tensors, path)
    return facts


def _open(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    if not path.exists():
        raise CouldNotError(f"The checkpoint {path} is not there.", "Train the run again.")
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {})["facts"])
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise CouldNotError(
            f"The checkpoint {path} is damaged ({error}).",
            "Delete it; the same train command continues from what is left.",
        ) from error


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimiser.state_dict()["state"]
    return {
        f"optimiser.{index}.{name}": value
        for index, values in state.items()
        for name, value in values.items()
    }


def _restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], path: Path
) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimiser."):
            _, index, key = name.split(".", 2)
            state.setdefault(int(index), {})[key] = tensor
    if not state:
        raise CouldNotError(f"{path} holds no optimiser state.", "Only last.safetensors resumes.")
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
