"""What a derived artefact was made from; a stage whose manifest still holds does nothing.

Every derived artefact has a `manifest.json` beside it: input hashes, configuration hash, seed,
code version and counts. It is written last, so an artefact without one is unfinished.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pairs_to_words.project.files import hash_file, hash_value, read_json, write_json


@dataclass(frozen=True)
class Manifest:
    """The record beside an artefact.

    Attributes:
        stage: The command that made it, such as `embed`.
        inputs: Name of each input to its SHA-256 (of a file, or of an upstream manifest).
        config: The options that decide the result; nothing that does not.
        seed: The seed, or None where nothing is drawn.
        outputs: Name of each output file, relative to the manifest, to its SHA-256.
        counts: Row and item counts worth a look.
        notes: Anything else worth keeping, such as an encoder's preprocessing.
    """

    stage: str
    inputs: dict[str, str]
    config: dict[str, Any]
    seed: int | None = None
    outputs: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    code_version: str = field(default_factory=lambda: version("pairs-to-words"))

    @property
    def key(self) -> str:
        """Hash of what decides the result: stage, inputs, configuration and seed."""
        return hash_value([self.stage, self.inputs, self.config, self.seed])


def hash_inputs(paths: Mapping[str, Path]) -> dict[str, str]:
    """Return name -> SHA-256 for input files."""
    return {name: hash_file(path) for name, path in paths.items()}


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write `manifest.json` into `directory`: the last step of a stage."""
    write_json(directory / "manifest.json", asdict(manifest) | {"key": manifest.key})


def read_manifest(directory: Path) -> Manifest | None:
    """Return the manifest of a finished artefact, or None when there is none."""
    path = directory / "manifest.json"
    if not path.exists():
        return None
    data = read_json(path)
    data.pop("key", None)
    return Manifest(**data)


def is_current(directory: Path, planned: Manifest) -> bool:
    """Tell whether `directory` already holds what `planned` would make, with its files in place."""
    present = read_manifest(directory)
    if present is None or present.key != planned.key:
        return False
    return all((directory / name).exists() for name in present.outputs)
