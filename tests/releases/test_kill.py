"""SIGKILL at a hundred random moments: no half release is listed, and the next run finishes."""

import multiprocessing
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.layout import Layout
from pairs_to_words.releases.tombstones import read_tombstones
from pairs_to_words.releases.verify import verify_release
from pairs_to_words.releases.versions import released_versions, say_version

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]

KILLS = 100

# Children of a server that has imported everything and run nothing: quick to start, and unlike
# forks of this process they have working Arrow threads.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "pairs_to_words.collect.main",
        "pairs_to_words.collect.release",
        "pairs_to_words.releases.build",
    ]
)


def killed(arguments: list[str], seconds: float) -> bool:
    """Run `collect` in a process of its own, kill it after `seconds`; was it still running?"""
    child = FORKS.Process(target=main, args=(arguments,))
    child.start()
    time.sleep(seconds)
    child.kill()
    child.join()
    return child.exitcode == -signal.SIGKILL


def listed(layout: Layout) -> list[Path]:
    folder = layout.release("0.0.0").parent
    return [folder / say_version(version) for version in released_versions(folder)]


def test_build_is_whole_or_absent(filled: Layout) -> None:
    arguments = ["release", "build", "1.0.0", "--project", str(filled.root)]
    draw = random.Random(0)
    assert main(arguments) == 0
    shutil.rmtree(filled.release("1.0.0"))
    start = time.monotonic()
    assert main(arguments) == 0
    longest = time.monotonic() - start
    hits = 0
    while hits < KILLS:
        shutil.rmtree(filled.release("1.0.0"), ignore_errors=True)
        hits += killed(arguments, draw.uniform(0, 1.5 * longest))
        for path in listed(filled):
            assert verify_release(path) == []
    assert main(arguments) == 0
    assert verify_release(filled.release("1.0.0")) == []
    assert not [p for p in filled.release("1.0.0").parent.iterdir() if p.name.startswith(".")]


def test_removal_is_whole_or_absent_and_running_again_finishes(built: Layout) -> None:
    arguments = ["release", "remove", "--photo", "1001", "--yes", "--project", str(built.root)]
    releases = built.release("0.0.0").parent
    draw = random.Random(1)
    assert main(arguments) == 0
    shutil.rmtree(built.release("1.1.0"))
    (releases / "tombstones.json").unlink()
    start = time.monotonic()
    assert main(arguments) == 0
    longest = time.monotonic() - start
    hits = 0
    while hits < KILLS:
        shutil.rmtree(built.release("1.1.0"), ignore_errors=True)
        (releases / "tombstones.json").unlink(missing_ok=True)
        hits += killed(arguments, draw.uniform(0, 1.5 * longest))
        for path in listed(built):
            assert verify_release(path) == []
        if built.release("1.1.0").exists():
            assert len(read_tombstones(releases)) == 1
    assert main(arguments) == 0
    assert verify_release(built.release("1.1.0")) == []
