"""Whole files or none, whatever happens in between."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import (
    atomic_directory,
    atomic_path,
    hash_file,
    hash_value,
    read_json,
    read_parquet,
    remove_leftovers,
    write_json,
    write_parquet,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_failed_directory_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), atomic_directory(tmp_path / "1.0.0") as temporary:
        (temporary / "half").write_text("half")
        raise RuntimeError
    assert names(tmp_path) == []


def test_a_directory_is_never_overwritten(tmp_path: Path) -> None:
    with atomic_directory(tmp_path / "1.0.0") as temporary:
        (temporary / "whole").write_text("whole")
    with pytest.raises(UserError, match="already exists"), atomic_directory(tmp_path / "1.0.0"):
        pass
    assert names(tmp_path / "1.0.0") == ["whole"]


def test_a_killed_writer_leaves_only_a_hidden_leftover_that_is_cleaned(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from pairs_to_words.project.files import atomic_path
with atomic_path(Path({str(tmp_path)!r}) / "big.bin") as temporary:
    temporary.write_bytes(b"x" * 1000)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "big.bin").exists()
    assert remove_leftovers(tmp_path) == 1
    assert names(tmp_path) == []


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "table.parquet"
    write_parquet(target, pa.table({"n": [1]}))
    before = hash_file(target)
    pid = os.fork()
    if pid == 0:  # pragma: no cover - runs in the child only
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            write_parquet(target, pa.table({"n": [os.urandom(8) for _ in range(100_000)]}))
        except OSError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert hash_file(target) == before
    assert names(tmp_path) == ["table.parquet"]


def test_json_is_canonical_and_refuses_nan(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": 1, "a": "é"})
    write_json(tmp_path / "b.json", {"a": "é", "b": 1})
    assert hash_file(tmp_path / "a.json") == hash_file(tmp_path / "b.json")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "c.json", {"a": float("nan")})
    assert hash_value({"a": 1, "b": 2}) == hash_value({"b": 2, "a": 1})


@pytest.mark.parametrize("reader", [read_json, read_parquet])
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, reader: object) -> None:
    assert callable(reader)
    with pytest.raises(UserError, match=r"gone\.x is not there"):
        reader(tmp_path / "gone.x")
    (tmp_path / "bad.x").write_bytes(b"\xff{")
    with pytest.raises(UserError, match=r"bad\.x is not"):
        reader(tmp_path / "bad.x")
