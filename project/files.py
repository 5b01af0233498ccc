"""Files that are whole or absent: every write is temporary file, fsync, rename."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pairs_to_words.project.errors import UserError

TEMPORARY_MARK = ".partial-"


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is fsynced and takes `path`'s place.

    On any exception the temporary file is removed and an older `path` stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}{TEMPORARY_MARK}{uuid.uuid4().hex[:8]}")
    try:
        yield temporary
        _fsync(temporary)
        temporary.replace(path)
        _fsync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary directory beside `path`; on success it becomes `path`, not there before.

    Raises:
        UserError: `path` is already there.
    """
    if path.exists():
        raise UserError(f"{path} already exists.", "It is never overwritten; choose another name.")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}{TEMPORARY_MARK}{uuid.uuid4().hex[:8]}")
    temporary.mkdir()
    try:
        yield temporary
        for file in sorted(temporary.rglob("*")):
            _fsync(file)
        _fsync(temporary)
        temporary.rename(path)
        _fsync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically with `\\n` line ends."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_bytes(path: Path, data: bytes) -> None:
    """Write bytes atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically: sorted keys, two spaces, a final newline, no NaN."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        UserError: The file is missing or is not JSON; the message names the line.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid JSON: {error}.") from error


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write an Arrow table atomically as zstd Parquet, bytes a function of the table alone."""
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_statistics=True)


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file.

    Raises:
        UserError: The file is missing or damaged.
    """
    if not path.exists():
        raise UserError(f"{path} is not there.")
    try:
        return pq.read_table(path, columns=columns)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path} is not a readable Parquet file: {error}") from error


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hex digits."""
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def hash_value(value: Any) -> str:
    """Return the SHA-256 of a JSON-able value, independent of key order."""
    return sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def remove_leftovers(directory: Path) -> int:
    """Delete temporary files and directories that a killed process left; return how many."""
    leftovers = list(directory.glob(f".*{TEMPORARY_MARK}*"))
    for leftover in leftovers:
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)
    return len(leftovers)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
