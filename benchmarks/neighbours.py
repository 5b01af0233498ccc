"""Neighbours of 405 pivots in a large float16 file: the search beside its matrix product alone.

    python benchmarks/neighbours.py --photos 1700000 --dimensions 1536

Prints for each backend the time of `nearest` over the time of one float32 GEMM of the same size on
the same rows (converted beforehand, block by block), and the peak memory. Rows repeat one random
block with a shift per shard, so that making the file costs little; the search does not profit.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from pairs_to_words.sampling.embeddings import Embeddings, embeddings_of
from pairs_to_words.sampling.neighbours import choose_backend, nearest

SHARD = 65_536
PIVOTS = 405
DEPTH = 64


def make(folder: Path, photos: int, dimensions: int) -> Embeddings:
    block = np.random.default_rng(0).normal(size=(SHARD, dimensions)).astype(np.float16)
    files = []
    for number, start in enumerate(range(0, photos, SHARD)):
        files.append(folder / f"shard-{number:05d}.npy")
        np.save(files[-1], np.roll(block, number, axis=1)[: min(SHARD, photos - start)])
    return embeddings_of(np.arange(photos), files)


def product_alone(embeddings: Embeddings, queries: np.ndarray, rows: int) -> float:
    """Return the seconds of the bare products, block by block, of float32 rows in memory."""
    block = np.load(embeddings.shards[0], mmap_mode="r")[: 8 * rows].astype(np.float32)
    out = np.empty((len(queries), rows), np.float32)
    parts = [block[start : start + rows] for start in range(0, len(block), rows)]
    blocks = -(-len(embeddings) // rows)
    started = time.perf_counter()
    for number in range(blocks):
        part = parts[number % len(parts)]
        np.matmul(queries, part.T, out=out[:, : len(part)])
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--photos", type=int, default=1_700_000)
    parser.add_argument("--dimensions", type=int, default=1536)
    parser.add_argument("--backends", default="numpy,torch,faiss")
    parser.add_argument("--block-rows", type=int, default=2048)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        embeddings = make(folder, arguments.photos, arguments.dimensions)
        queries = np.load(embeddings.shards[0], mmap_mode="r")[:PIVOTS].copy()
        alone = min(
            product_alone(embeddings, queries.astype(np.float32), arguments.block_rows)
            for _ in range(2)
        )
        print(f"{arguments.photos:,} x {arguments.dimensions}: GEMM alone {alone:.2f} s")
        results = {}
        for name in arguments.backends.split(","):
            started = time.perf_counter()
            found = nearest(
                embeddings,
                queries,
                DEPTH,
                backend=choose_backend(name),
                block_rows=arguments.block_rows,
            )
            seconds = time.perf_counter() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{name}: {seconds:.2f} s, {seconds / alone:.2f} x GEMM, peak {peak:,.0f} MB,"
                f" {found.repeated} queries searched again"
            )
            results[name] = found.places
        first = next(iter(results.values()))
        print("identical results:", all((places == first).all() for places in results.values()))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
