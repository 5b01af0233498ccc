"""The neighbour search is exact and the same for every backend, block size and order of shards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.sampling.embeddings import Embeddings, embeddings_of, read_blocks, read_rows
from pairs_to_words.sampling.neighbours import (
    check_faiss,
    choose_backend,
    nearest,
    scan_on_device,
)

Shards = Callable[..., Embeddings]
BACKENDS = ("numpy", "torch", "faiss")


def brute_force(rows: np.ndarray, ids: np.ndarray, query: np.ndarray, k: int) -> list[int]:
    """Rank with exact integer arithmetic where possible: float64 of float16 differences."""
    distance = [float(np.square(row.astype(np.float64) - query).sum()) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: (distance[i], ids[i]))
    return [int(ids[i]) for i in order[:k]]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("block_rows", [1, 50, 4096])
def test_results_equal_brute_force(shards: Shards, backend: str, block_rows: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 16)).astype(np.float16)
    ids = rng.permutation(10_000)[:400]
    embeddings = shards(rows, ids, 90)
    queries = rows[:7]
    found = nearest(embeddings, queries, 9, backend=backend, block_rows=block_rows)
    assert found.backend == backend
    for query, places in zip(queries, found.places, strict=True):
        expected = brute_force(rows, ids, query.astype(np.float64), 9)
        assert embeddings.photo_ids[places].tolist() == expected


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 10_000),
    distinct=st.integers(1, 6),
    k=st.integers(1, 70),
    block_rows=st.sampled_from([3, 32, 500]),
    backend=st.sampled_from(BACKENDS),
)
def test_ties_are_broken_by_photo_id(
    shards: Shards, seed: int, distinct: int, k: int, block_rows: int, backend: str
) -> None:
    """Few distinct rows, many copies: most of the order is decided by ties."""
    rng = np.random.default_rng(seed)
    kinds = (rng.integers(-3, 4, (distinct, 5)) * 100).astype(np.float16)
    rows = kinds[rng.integers(distinct, size=150)]
    ids = rng.permutation(1000)[:150]
    embeddings = shards(rows, ids, 40)
    found = nearest(embeddings, rows[:2], k, backend=backend, block_rows=block_rows)
    for query, places in zip(rows[:2], found.places, strict=True):
        assert embeddings.photo_ids[places].tolist() == brute_force(
            rows, ids, query.astype(np.float64), k
        )


def test_large_common_offsets_do_not_cost_exactness(shards: Shards) -> None:
    """|x|^2 - 2 q.x cancels badly here: float32 alone would order these rows at random."""
    rng = np.random.default_rng(1)
    rows = (1000 + rng.integers(0, 3, (500, 64))).astype(np.float16)
    ids = np.arange(500)
    found = nearest(shards(rows, ids, 120), rows[:3], 5, backend="numpy")
    assert found.repeated == 3
    for query, places in zip(rows[:3], found.places, strict=True):
        assert places.tolist() == brute_force(rows, ids, query.astype(np.float64), 5)


def test_order_of_shards_changes_no_photo(shards: Shards) -> None:
    rng = np.random.default_rng(2)
    rows, ids = rng.normal(size=(300, 8)).astype(np.float16), np.arange(300) + 7
    first, second = shards(rows, ids, 100), shards(rows, ids, 100, order=[2, 0, 1])
    a, b = nearest(first, rows[:5], 12), nearest(second, rows[:5], 12)
    assert (first.photo_ids[a.places] == second.photo_ids[b.places]).all()
    assert (a.distances == b.distances).all()


def test_only_allowed_rows_are_found(shards: Shards) -> None:
    rows = np.random.default_rng(3).normal(size=(200, 8)).astype(np.float16)
    allowed = np.zeros(200, bool)
    allowed[[3, 77, 150]] = True
    for backend in BACKENDS:
        found = nearest(
            shards(rows, np.arange(200), 64), rows[:2], 5, allowed=allowed, backend=backend
        )
        for places in found.places:
            assert set(places[:3].tolist()) == {3, 77, 150}
            assert places[3:].tolist() == [-1, -1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_neighbours_than_photos_never_invents_one(shards: Shards, backend: str) -> None:
    rows = np.random.default_rng(4).normal(size=(6, 4)).astype(np.float16)
    found = nearest(shards(rows, np.arange(6), 4), rows[:1], 10, backend=backend)
    assert sorted(found.places[0, :6].tolist()) == list(range(6))
    assert found.places[0, 6:].tolist() == [-1] * 4
    assert np.isinf(found.distances[0, 6:]).all()


def test_a_row_that_is_not_finite_is_named(shards: Shards) -> None:
    rows = np.zeros((10, 4))
    rows[7, 2] = np.nan
    with pytest.raises(CouldNotError, match="photo 107 is not finite"):
        nearest(shards(rows, np.arange(10) + 100, 4), np.zeros((1, 4), np.float16), 2)


def test_an_unknown_backend_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="torch-cuda, numpy, torch, faiss"):
        choose_backend("fais")


def test_two_faiss_distributions_are_explained() -> None:
    check_faiss(["faiss-cpu"])
    with pytest.raises(UserError, match=r"faiss-cpu, faiss-gpu\. Repair with `pip uninstall"):
        check_faiss(["faiss-cpu", "faiss-gpu"])


def test_a_cuda_backend_without_a_device_is_refused() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(UserError, match="no CUDA device"):
        choose_backend("torch-cuda")


def test_selection_on_a_device_finds_what_the_others_find() -> None:
    """The CUDA path with the device set to the processor: product, top k and thresholds."""
    rng = np.random.default_rng(6)
    rows, queries = rng.normal(size=(2, 60, 8)).astype(np.float32)
    norms = np.square(rows).sum(axis=1)
    scores = norms - 2 * queries @ rows.T
    threshold = np.sort(scores, axis=1)[:, 2:4].mean(axis=1)
    query, row, score = scan_on_device(-2 * queries, rows, norms, threshold, 10, "cpu")
    np.testing.assert_allclose(score, scores[query, row], rtol=1e-5, atol=1e-5)
    assert np.bincount(query).tolist() == [3] * 60


def test_a_truncated_shard_is_named(tmp_path: Path) -> None:
    shard = tmp_path / "shard-00000.npy"
    np.save(shard, np.zeros((10, 4), np.float16))
    shard.write_bytes(shard.read_bytes()[:-8])
    with pytest.raises(CouldNotError, match=r"shard-00000\.npy is truncated"):
        embeddings_of(np.arange(10), [shard])


def test_shards_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "shard-00000.npy", np.zeros((10, 4), np.float16))
    with pytest.raises(CouldNotError, match="10 rows for 11 photo ids"):
        embeddings_of(np.arange(11), [tmp_path / "shard-00000.npy"])


def test_blocks_and_rows_give_back_what_was_written(shards: Shards) -> None:
    rows = np.random.default_rng(5).normal(size=(100, 3)).astype(np.float16)
    embeddings = shards(rows, np.arange(100), 33)
    blocks = [(first, block.copy()) for first, block in read_blocks(embeddings, 10)]
    for first, block in blocks:
        assert (block == rows[first : first + len(block)]).all()
    assert sum(len(block) for _, block in blocks) == 100
    assert (read_rows(embeddings, np.array([99, 0, 40, 40])) == rows[[99, 0, 40, 40]]).all()


MEMORY = """
import resource, sys
from pathlib import Path
import numpy as np
from pairs_to_words.sampling.embeddings import embeddings_of
from pairs_to_words.sampling.neighbours import nearest
shards = sorted(Path(sys.argv[1]).glob("*.npy"))
rows = sum(np.load(s, mmap_mode="r").shape[0] for s in shards)
embeddings = embeddings_of(np.arange(rows), shards)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
nearest(embeddings, np.load(shards[0], mmap_mode="r")[:20], 5, backend="numpy", block_rows=4096)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_files(tmp_path: Path) -> None:
    def growth(shards: int) -> float:
        folder = tmp_path / str(shards)
        folder.mkdir()
        rows = np.random.default_rng(0).normal(size=(16_384, 256)).astype(np.float16)
        for number in range(shards):
            np.save(folder / f"shard-{number:05d}.npy", rows + np.float16(number))
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(folder)], capture_output=True, text=True, check=True
        )
        return int(done.stdout) / 1024

    small, large = growth(2), growth(32)  # 16 MB and 268 MB of rows
    assert large < 100
    assert large < small + 30
