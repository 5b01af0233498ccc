"""Exact nearest photos by embedding distance, in one streaming pass of bounded memory.

A float32 matrix product finds candidates block by block; the candidates are then ranked by float64
distances with ties broken by photo id. An error bound tells whether a photo that was not a
candidate could still belong among the nearest; the few queries where it could are searched again in
float64 throughout. So the result is exact, and the same for every backend, block size, number of
threads and order of shards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.sampling.embeddings import (
    Embeddings,
    Half,
    Ints,
    read_blocks,
    read_rows,
    squared_distances,
)

Floats = NDArray[np.float32]
BACKENDS = ("torch-cuda", "numpy", "torch", "faiss")
"""In the order in which `auto` takes them: NumPy's matrix product with the selection below is as
fast as faiss here and needs neither import nor memory for it (see benchmarks/neighbours.py)."""

_FAISS = (
    "faiss-cpu",
    "faiss-gpu",
    "faiss-gpu-cu11",
    "faiss-gpu-cu12",
    "faiss-gpu-cuvs",
    "faiss-cuda",
)
"""Distributions that all install the one package `faiss`."""

BLOCK_ROWS = 2_048
"""Small enough that a block in float32 stays in the last cache between its passes."""
_SLACK = 30
"""Candidates kept beyond k: room for ties and rounding before a query must be searched again."""
_TORCH_PAYS = 500_000_000
"""Elements from which on importing torch for their conversion saves time."""
_GATHER = 4_096
"""Rows read at once when candidates are ranked: 50 MB of float64 at 1,536 dimensions."""


@dataclass(frozen=True)
class Neighbours:
    """The nearest rows of each query, nearest first.

    Attributes:
        places: Rows of the embeddings, shape (queries, k); -1 where fewer than k rows are allowed.
        distances: Squared L2 distances, float64, infinity where places is -1.
        backend: What computed the candidates.
        repeated: Queries that were searched again in float64.
    """

    places: Ints
    distances: NDArray[np.float64]
    backend: str
    repeated: int


def choose_backend(name: str = "auto", elements: int = 0) -> str:
    """Return the backend to use: the named one, or the fastest that is there.

    Args:
        name: `auto` or one of `BACKENDS`.
        elements: Size of the file in numbers; a small one is not worth looking for a GPU.

    Raises:
        UserError: An unknown backend, one that is not there, or two faiss distributions at once.
    """
    if name not in ("auto", *BACKENDS):
        raise UserError(f"There is no backend {name!r}.", f"Known: auto, {', '.join(BACKENDS)}.")
    if name == "auto":
        return "torch-cuda" if elements >= _TORCH_PAYS and _has_cuda() else "numpy"
    if name == "faiss":
        check_faiss([d for d in _FAISS if _is_installed(d)])
    if find_spec(name.partition("-")[0]) is None:
        raise UserError(f"The backend {name} is not installed.", "Use --backend auto.")
    if name == "torch-cuda" and not _has_cuda():
        raise UserError("torch finds no CUDA device here.", "Use --backend auto.")
    return name


def check_faiss(installed: Collection[str]) -> None:
    """Refuse two faiss distributions: they overwrite each other's files and pip does not notice.

    Raises:
        UserError: More than one; the message says how to repair it.
    """
    if len(installed) > 1:
        raise UserError(
            f"Two faiss distributions are installed over each other: {', '.join(installed)}.",
            f"Repair with `pip uninstall -y {' '.join(installed)}`, then install the one you want.",
        )


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def _has_cuda() -> bool:
    if not Path("/dev/nvidiactl").exists() or find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def nearest(
    embeddings: Embeddings,
    queries: Half,
    k: int,
    *,
    allowed: NDArray[np.bool_] | None = None,
    backend: str = "auto",
    block_rows: int = BLOCK_ROWS,
    progress: Progress = no_progress,
) -> Neighbours:
    """Find the `k` nearest rows of each query: smallest squared L2 distance, then photo id.

    Args:
        embeddings: The rows to search.
        queries: float16, queries x dimensions.
        k: Neighbours per query.
        allowed: Rows that may be found; all when None.
        backend: `auto`, `faiss`, `torch` or `numpy`.
        block_rows: Rows per block; decides memory and speed, not the result.
        progress: Counts rows.

    Raises:
        CouldNotError: A row or a query is not finite.
    """
    backend = choose_backend(backend, len(embeddings) * embeddings.dimensions)
    if not np.isfinite(queries.astype(np.float32)).all():
        raise CouldNotError("A query embedding is not finite.", "Run `collect embed` again.")
    permitted = len(embeddings) if allowed is None else int(allowed.sum())
    k_found = min(k, permitted)
    places = np.full((len(queries), k), -1, np.int64)
    distances = np.full((len(queries), k), np.inf)
    if not k_found or not len(queries):
        return Neighbours(places, distances, backend, 0)
    wanted = min(k_found + _SLACK, permitted)
    candidates = _candidates(
        embeddings, queries, wanted, allowed, _SCANS[backend], block_rows, progress
    )
    exact = _rank(embeddings, queries, candidates.places)
    places[:, :k_found], distances[:, :k_found] = exact[0][:, :k_found], exact[1][:, :k_found]
    if wanted == permitted:
        return Neighbours(places, distances, backend, 0)
    unsure = distances[:, k_found - 1] >= candidates.boundary - candidates.error
    again = np.flatnonzero(unsure)
    if len(again):
        places[again, :k_found], distances[again, :k_found] = _search_float64(
            embeddings, queries[again], k_found, allowed
        )
    return Neighbours(places, distances, backend, len(again))


@dataclass(frozen=True)
class _Candidates:
    """Rows that may be nearest; any other row is farther than `boundary - error`."""

    places: Ints
    boundary: NDArray[np.float64]
    error: NDArray[np.float64]


Found = tuple[Ints, Ints, Floats]
"""Query numbers, block rows and scores |x|^2 - 2 q.x, one entry per candidate."""

Scan = Callable[[Floats, Floats, Floats, Floats, int], Found]
"""(-2 q, rows, |x|^2, thresholds, wanted) -> at least every entry that is among its query's
`wanted` smallest of this block and below the query's threshold."""


def _candidates(
    embeddings: Embeddings,
    queries: Half,
    wanted: int,
    allowed: NDArray[np.bool_] | None,
    scan: Scan,
    block_rows: int,
    progress: Progress,
) -> _Candidates:
    doubled = -2 * queries.astype(np.float32)
    best = np.full((len(queries), wanted), np.inf, np.float32)
    rows = np.full((len(queries), wanted), -1, np.int64)
    largest = 0.0
    buffer = np.empty((block_rows, embeddings.dimensions), np.float32)
    convert = _converter(len(embeddings) * embeddings.dimensions)
    pending: list[Found] = []
    with progress("neighbours", total=len(embeddings), unit="photo") as advance:
        for first, block in read_blocks(embeddings, block_rows):
            kept = _kept(allowed, first, len(block))
            if len(kept):
                rows32 = buffer[: len(kept)]
                convert(block if len(kept) == len(block) else block[kept], rows32)
                norms = np.einsum("ij,ij->i", rows32, rows32)
                _check_finite(norms, embeddings, first + kept)
                largest = max(largest, float(norms.max()))
                query, row, score = scan(doubled, rows32, norms, best[:, -1], wanted)
                pending.append((query, first + kept[row], score))
                # Merging sorts: a few entries wait until there are many. Old thresholds only let
                # more through.
                waiting = sum(len(found[0]) for found in pending)
                if waiting > best.size or np.isinf(best[0, -1]):
                    _merge(best, rows, pending)
            advance(len(block))
    _merge(best, rows, pending)
    norm = np.square(queries.astype(np.float64)).sum(axis=1)
    # Rounding of a float32 dot product of length d is at most d u |q||x| in any summation order
    # (Higham 2002, eq. 3.5), doubled for -2 q.x; the norm and the final sum add a few u more.
    unit = 2.0**-24
    length = embeddings.dimensions + 8
    error = unit * length * (2 * np.sqrt(norm * largest) + largest + norm)
    return _Candidates(rows, best[:, -1].astype(np.float64) + norm, error)


def _kept(allowed: NDArray[np.bool_] | None, first: int, count: int) -> Ints:
    """Return the numbers of the rows of a block that may be found."""
    return np.arange(count) if allowed is None else np.flatnonzero(allowed[first : first + count])


def _converter(elements: int) -> Callable[[Half, Floats], None]:
    """Return what writes float16 rows into a float32 buffer.

    torch uses the processor's instruction for it and is six times as fast as NumPy (0.4 against
    2.5 ns per element), but takes seconds to import: worth it only for large files.
    """

    def with_numpy(block: Half, into: Floats) -> None:
        np.copyto(into, block)

    def with_torch(block: Half, into: Floats) -> None:
        torch.from_numpy(into).copy_(torch.from_numpy(block))

    if "torch" not in sys.modules and (elements < _TORCH_PAYS or find_spec("torch") is None):
        return with_numpy
    import torch

    return with_torch


def _check_finite(norms: Floats, embeddings: Embeddings, places: Ints) -> None:
    if np.isfinite(norms).all():
        return
    photo = int(embeddings.photo_ids[places[~np.isfinite(norms)][0]])
    raise CouldNotError(
        f"The embedding of photo {photo} is not finite.",
        "Delete the embeddings folder and run `collect embed` again.",
    )


def _merge(best: Floats, rows: Ints, pending: list[Found]) -> None:
    """Put pending entries among each query's best, in place; rows of `best` stay ascending."""
    if not any(len(found[0]) for found in pending):
        pending.clear()
        return
    query, row, score = (np.concatenate(part) for part in zip(*pending, strict=True))
    pending.clear()
    wanted = best.shape[1]
    touched = np.unique(query)
    queries = np.concatenate([np.repeat(touched, wanted), query])
    scores = np.concatenate([best[touched].ravel(), score])
    places = np.concatenate([rows[touched].ravel(), row])
    order = np.lexsort([scores, queries])
    sizes = np.bincount(np.searchsorted(touched, query), minlength=len(touched)) + wanted
    starts = np.cumsum(sizes) - sizes
    first = order[(starts[:, None] + np.arange(wanted)).ravel()]
    best[touched] = scores[first].reshape(-1, wanted)
    rows[touched] = places[first].reshape(-1, wanted)


def _scan_faiss(
    doubled: Floats, rows: Floats, norms: Floats, threshold: Floats, wanted: int
) -> Found:
    import faiss

    queries = doubled * np.float32(-0.5)
    distances, found = faiss.knn(queries, rows, min(wanted, len(rows)))
    scores = distances - np.square(queries).sum(axis=1, keepdims=True)
    query, column = np.nonzero(scores < threshold[:, None])
    return query, found[query, column].astype(np.int64), scores[query, column]


def _scan_numpy(
    doubled: Floats, rows: Floats, norms: Floats, threshold: Floats, wanted: int
) -> Found:
    scores = doubled @ rows.T
    scores += norms
    return _select(scores, threshold, wanted)


def _scan_torch(
    doubled: Floats, rows: Floats, norms: Floats, threshold: Floats, wanted: int
) -> Found:
    import torch

    scores = torch.addmm(
        torch.from_numpy(norms), torch.from_numpy(doubled), torch.from_numpy(rows).T
    )
    return _select(scores.numpy(), threshold, wanted)


def _scan_cuda(
    doubled: Floats, rows: Floats, norms: Floats, threshold: Floats, wanted: int
) -> Found:
    return scan_on_device(doubled, rows, norms, threshold, wanted, "cuda")


def scan_on_device(
    doubled: Floats, rows: Floats, norms: Floats, threshold: Floats, wanted: int, device: str
) -> Found:
    """Do product and selection on a torch device; only the block's best come back.

    TF32 would break the error bound, so the product is asked for in full float32.
    """
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        scores = torch.addmm(
            torch.from_numpy(norms).to(device),
            torch.from_numpy(doubled).to(device),
            torch.from_numpy(rows).to(device).T,
        )
    finally:
        torch.set_float32_matmul_precision(before)
    found = scores.topk(min(wanted, len(rows)), dim=1, largest=False)
    values, columns = found.values.cpu().numpy(), found.indices.cpu().numpy()
    query, column = np.nonzero(values < threshold[:, None])
    return query, columns[query, column], values[query, column]


def _select(scores: Floats, threshold: Floats, wanted: int) -> Found:
    """Return entries below their query's threshold; at first, when there is none, the smallest."""
    if np.isinf(threshold).any() and wanted < scores.shape[1]:
        column = np.argpartition(scores, wanted - 1, axis=1)[:, :wanted].ravel()
        query = np.repeat(np.arange(len(scores)), wanted)
        return query, column, scores[query, column]
    # One flat index: NumPy's two-dimensional nonzero is several times slower.
    flat = np.flatnonzero(scores < threshold[:, None])
    query, column = np.divmod(flat, scores.shape[1])
    return query, column, scores.ravel()[flat]


_SCANS: dict[str, Scan] = {
    "torch-cuda": _scan_cuda,
    "numpy": _scan_numpy,
    "torch": _scan_torch,
    "faiss": _scan_faiss,
}


def _rank(embeddings: Embeddings, queries: Half, places: Ints) -> tuple[Ints, NDArray[np.float64]]:
    """Sort each query's candidates by exact distance, then photo id."""
    distances = np.full(places.shape, np.inf)
    query, column = np.nonzero(places >= 0)
    for start in range(0, len(query), _GATHER):
        part = slice(start, start + _GATHER)
        rows = read_rows(embeddings, places[query[part], column[part]])
        distances[query[part], column[part]] = squared_distances(rows, queries[query[part]])
    order = np.lexsort([embeddings.photo_ids[places], distances], axis=1)
    return np.take_along_axis(places, order, 1), np.take_along_axis(distances, order, 1)


def _search_float64(
    embeddings: Embeddings, queries: Half, k: int, allowed: NDArray[np.bool_] | None
) -> tuple[Ints, NDArray[np.float64]]:
    """Search with exact distances throughout: slow, for the few queries that need it."""
    best = np.full((len(queries), k), np.inf)
    places = np.full((len(queries), k), -1, np.int64)
    for first, block in read_blocks(embeddings, _GATHER):
        kept = _kept(allowed, first, len(block))
        for number, query in enumerate(queries):
            distance = squared_distances(
                block[kept], np.broadcast_to(query, (len(kept), len(query)))
            )
            all_distances = np.concatenate([best[number], distance])
            all_places = np.concatenate([places[number], first + kept])
            order = np.lexsort([embeddings.photo_ids[all_places], all_distances])[:k]
            best[number], places[number] = all_distances[order], all_places[order]
    return places, best
