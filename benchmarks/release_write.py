"""Write a release of a million rows and five million judgments, beside pyarrow alone.

Usage: python benchmarks/release_write.py [rows] [judgments]

Peer: pyarrow.parquet.write_table of the same tables with the same compression, nothing else. The
release adds leak report, logical hash, SHA-256 of every file, statistics, card, croissant.json,
fsync and a full check at opening. Prints seconds, the ratio and the peak memory.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pairs_to_words.project.records import PARAGRAPHS
from pairs_to_words.releases.frame import Contents, write_release
from pairs_to_words.releases.logical import logical_hash
from pairs_to_words.releases.rows import JUDGMENTS
from pairs_to_words.releases.schemas import row_kind
from pairs_to_words.releases.tally import tally

SPLITS = ("train", "val", "test")
WORDS = np.array([f"word{n}" for n in range(5_000)])


def paragraphs(count: int) -> pa.Table:
    draw = np.random.default_rng(0)
    pair = np.arange(count) // 5
    split = np.array(SPLITS)[np.searchsorted([0.8, 0.9], (pair * 2654435761 % 2**32) / 2**32)]
    text = [
        f"Animal 1 of {n} is {' '.join(WORDS[row])}."
        for n, row in enumerate(draw.integers(0, len(WORDS), (count, 25)))
    ]
    columns: dict[str, object] = {
        "row_id": [f"{p:09d}-w-{n:010x}" for n, p in enumerate(pair)],
        "pair_id": [f"{p:09d}" for p in pair],
        "text": text,
        "writer": [f"w-{n % 400:010x}" for n in range(count)],
        "simulated": np.zeros(count, bool),
        "split": split,
        "level_requested": np.array(["visual", "genus", "order"])[pair % 3],
        "level_actual": np.array(["order", "genus", "order"])[pair % 3],
    }
    for side in (1, 2):
        photo = pair * 2 + side
        columns |= {
            f"photo_{side}_id": photo,
            f"photo_{side}_sha256": [f"{p:064x}" for p in photo],
            f"photo_{side}_url": [f"https://photos.example.org/{p}.jpg" for p in photo],
            f"photo_{side}_license": np.full(count, "CC-BY-4.0"),
            f"photo_{side}_attribution": [f"(c) Observer {p % 9973}" for p in photo],
            f"photo_{side}_species_id": photo,
            f"photo_{side}_species": [f"Avis s{p}" for p in photo],
            f"photo_{side}_common_name": [f"Bird {p}" for p in photo],
        }
    return pa.table({n: pa.array(columns[n], PARAGRAPHS.field(n).type) for n in PARAGRAPHS.names})


def judgments(count: int) -> pa.Table:
    number = np.arange(count)
    item = pa.array([f"c-{n:09d}" for n in range(count // 10 + 1)]).take(pa.array(number // 10))
    columns: dict[str, object] = {
        "task": pa.array(["clarity"]).take(pa.array(np.zeros(count, int))),
        "item_id": item,
        "unit_id": item,
        "field": pa.array(["clear_1", "clear_2"]).take(pa.array(number % 2)),
        "worker": pa.array([f"w-{n:010x}" for n in range(400)]).take(pa.array(number % 400)),
        "value": pa.array(["clear", "unclear"]).take(pa.array((number % 7 == 0).astype(int))),
        "position": pa.array((number // 2 % 5).astype(np.int32)),
        "phase": pa.array([""]).take(pa.array(np.zeros(count, int))),
        "submitted_at": pa.array(["2026-12-01T12:00:00.000Z"]).take(pa.array(np.zeros(count, int))),
        "work_seconds": pa.array(np.full(count, 9.5)),
        "source": pa.array(["crowd"]).take(pa.array(np.zeros(count, int))),
        "simulated": pa.array(np.zeros(count, bool)),
    }
    return pa.table([columns[n] for n in JUDGMENTS.names], schema=JUDGMENTS)


def main() -> None:
    n_rows, n_judgments = (
        int(a) for a in (sys.argv[1:] + ["1000000", "5000000"][len(sys.argv) - 1 :])
    )
    rows, judged = paragraphs(n_rows).cast(PARAGRAPHS), judgments(n_judgments)
    kind = row_kind("paragraphs")
    folder = Path(tempfile.mkdtemp())
    try:
        start = time.perf_counter()
        for split in SPLITS:
            pq.write_table(
                rows.filter(pa.compute.equal(rows["split"], split)),
                folder / f"{split}.parquet",
                compression="zstd",
            )
        pq.write_table(judged, folder / "judgments.parquet", compression="zstd")
        peer = time.perf_counter() - start
        start = time.perf_counter()
        logical_hash([rows, judged])
        hashing = time.perf_counter() - start
        start = time.perf_counter()
        statistics = tally(kind, rows, SPLITS) | {
            "judgments": len(judged),
            "simulated_texts": 0,
            "funnel": {},
        }
        counting = time.perf_counter() - start
        start = time.perf_counter()
        contents = Contents(
            kind, rows, judged, [], SPLITS, statistics,
            {"name": "benchmark", "title": "Benchmark", "version": "1.0.0", "code_version": "0",
             "counts": {"texts": n_rows}},
            {"README.md": "benchmark\n"},
        )  # fmt: skip
        write_release(folder / "1.0.0", contents)
        ours = time.perf_counter() - start
    finally:
        shutil.rmtree(folder)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"rows {n_rows:,}, judgments {n_judgments:,}")
    print(f"pyarrow alone     {peer:8.2f} s   ratio 1.00")
    print(
        f"write_release     {ours:8.2f} s   ratio {ours / peer:.2f}  (logical hash {hashing:.2f} s)"
    )
    print(f"counting words    {counting:8.2f} s   ratio {counting / peer:.2f}")
    print(f"peak memory       {memory:8.2f} GiB, the tables themselves "
          f"{(rows.nbytes + judged.nbytes) / 1024**3:.2f} GiB")  # fmt: skip


if __name__ == "__main__":
    main()
