"""Where a project keeps its things.

collect.toml              configuration
state.db                  what changes and what costs money (or PostgreSQL by URL)
catalog/                  photos.parquet, taxa.parquet (and truth.parquet for the embedded domain)
embeddings/<encoder>/     float16 shards, ids, manifest
samples/<name>/           pairs.parquet, funnel.json, contact sheets, manifest
photos/ab/cd/<sha256>     content-addressed files; photos/index.parquet says which photo is which
reports/                  audits (HTML, CSV, JSON)
releases/<version>/       immutable
models/<run>/             checkpoints, config, metrics
features/<encoder>/       grid features of released photos, cached for training
crowd/                    the local crowd server's own database, port and log
secrets/                  local keys and the pseudonym secret; never leaves the project
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pairs_to_words.project.errors import UserError

CONFIG_NAME = "collect.toml"


@dataclass(frozen=True)
class Layout:
    """Paths inside one project directory; nothing is created by asking for a path."""

    root: Path

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.root / CONFIG_NAME

    @property
    def state(self) -> Path:
        """The SQLite state database (when no URL is configured)."""
        return self.root / "state.db"

    @property
    def catalog(self) -> Path:
        """The catalogue snapshot."""
        return self.root / "catalog"

    @property
    def photos(self) -> Path:
        """Content-addressed photo files."""
        return self.root / "photos"

    @property
    def reports(self) -> Path:
        """Audits and the project's report."""
        return self.root / "reports"

    @property
    def crowd(self) -> Path:
        """The local crowd server's own folder; the requester side reads only its endpoint file."""
        return self.root / "crowd"

    @property
    def secrets(self) -> Path:
        """Keys and secrets, mode 700."""
        return self.root / "secrets"

    def embeddings(self, encoder: str) -> Path:
        """Embeddings of one encoder."""
        return self.root / "embeddings" / safe_name(encoder, "encoder")

    def features(self, encoder: str) -> Path:
        """Grid features of one encoder."""
        return self.root / "features" / safe_name(encoder, "encoder")

    def sample(self, name: str) -> Path:
        """One named sample."""
        return self.root / "samples" / safe_name(name, "sample")

    def release(self, version: str) -> Path:
        """One release."""
        return self.root / "releases" / safe_name(version, "release")

    def model(self, run: str) -> Path:
        """One training run."""
        return self.root / "models" / safe_name(run, "run")

    def photo_file(self, sha256: str) -> Path:
        """The file of a photo by its content hash."""
        return photo_file(self.photos, sha256)


def photo_file(photos: Path, sha256: str) -> Path:
    """Return `photos/ab/cd/<sha256>` for a content hash.

    Raises:
        UserError: `sha256` is not 64 hex digits (it may come from a file a stranger wrote).
    """
    if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
        raise UserError(f"{sha256!r} is not a SHA-256.", "Expected 64 lower-case hex digits.")
    return photos / sha256[:2] / sha256[2:4] / sha256


def find_project(start: Path) -> Layout:
    """Return the project that holds `start`: the nearest directory upwards with collect.toml.

    Raises:
        UserError: There is none.
    """
    for directory in [start.resolve(), *start.resolve().parents]:
        if (directory / CONFIG_NAME).is_file():
            return Layout(directory)
    raise UserError(
        f"No {CONFIG_NAME} in {start} or above it.",
        "Make a project with `collect init DIR`, or name one with `--project DIR`.",
    )


def safe_name(name: str, kind: str) -> str:
    """Return `name` when it can be one path component, else refuse it.

    Raises:
        UserError: The name is empty, starts with a dot or holds a separator.
    """
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")
    if not name or name.startswith(".") or not set(name) <= allowed:
        raise UserError(
            f"{name!r} is not a {kind} name.", "Use letters, digits and . _ + - (not first a dot)."
        )
    return name
