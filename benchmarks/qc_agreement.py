"""Agreement beside its peers on one core: seconds, the value, and how many times as fast we are.

    OMP_NUM_THREADS=1 python benchmarks/qc_agreement.py [items ...]

Peers that are not installed are named as such. Every peer gets its own favourite input, made
outside the clock; ours starts from codes of items and labels, counting included.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import krippendorff
import numpy as np
import pandas as pd
from pairs_to_words.qc.aggregation import dawid_skene, encode_votes
from pairs_to_words.qc.coefficients import fleiss_kappa_pooled, krippendorff_alpha, prepare
from pairs_to_words.qc.counts import count_cells
from pairs_to_words.qc.intervals import interval
from statsmodels.stats.inter_rater import fleiss_kappa

RATERS = 5
_MOST_FOR_KRIPPENDORFF = 50_000_000  # 20,000 x 100 labels took 17 s and 4.7 GB


def crowd(items: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Item and label codes of items judged by five annotators who are right 8 times in 10."""
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, labels, items), RATERS)
    given = np.where(rng.random(items * RATERS) < 0.8, truth, rng.integers(0, labels, len(truth)))
    return np.repeat(np.arange(items), RATERS), given


def clock(work: Callable[[], float], repeats: int = 3) -> tuple[float, float]:
    best, value = float("inf"), float("nan")
    for _ in range(repeats):
        start = time.perf_counter()
        value = work()
        best = min(best, time.perf_counter() - start)
    return best, value


def line(name: str, seconds: float, value: float, ours: float) -> None:
    print(f"  {name:<44} {seconds:9.3f} s  {value:.9f}  {seconds / ours:6.1f} x")


def agreement(items: int, labels: int) -> None:
    item, label = crowd(items, labels)
    names = list(range(labels))
    print(f"{items:,} items x {RATERS} judgments, {labels} labels")

    def alpha() -> float:
        return float(krippendorff_alpha(prepare(count_cells(item, label, items, names)).total))

    ours, value = clock(alpha)
    line("pairs-to-words alpha, counting included", ours, value, ours)

    counted = count_cells(item, label, items, names)
    from_counts = clock(lambda: float(krippendorff_alpha(prepare(counted).total)))
    line("pairs-to-words alpha, from counts", *from_counts, ours)

    def with_interval() -> float:
        table = prepare(count_cells(item, label, items, names))
        found = interval(krippendorff_alpha, table)
        return found.low if found else float("nan")

    line("pairs-to-words alpha and 95 % interval (low)", *clock(with_interval), ours)
    if items * labels <= 20_000_000:
        table = np.bincount(item * labels + label, minlength=items * labels).reshape(items, labels)
        if items * labels**2 <= _MOST_FOR_KRIPPENDORFF:
            beside_krippendorff(table, label.reshape(items, RATERS).T, from_counts[0], ours)
        else:
            print("  krippendorff: left out, it allocates items x labels x labels")
        peer = clock(lambda: fleiss_kappa(table))
        line("statsmodels fleiss_kappa, from value counts", *peer, ours)

        def kappa() -> float:
            return float(fleiss_kappa_pooled(prepare(count_cells(item, label, items, names)).total))

        line("pairs-to-words Fleiss kappa", *clock(kappa), ours)
    else:
        print("  krippendorff and statsmodels: left out, the dense table is too large")
    peers_on_frames(item, label, ours)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory so far {peak:,.0f} MiB\n")


def beside_krippendorff(
    table: np.ndarray, raw: np.ndarray, from_counts: float, ours: float
) -> None:
    def alpha(**data: np.ndarray) -> tuple[float, float]:
        return clock(lambda: krippendorff.alpha(**data, level_of_measurement="nominal"), 1)

    peer = alpha(value_counts=table)
    line("krippendorff alpha, from value counts", *peer, ours)
    print(f"    both from counts: {peer[0] / from_counts:.1f} x")
    line("krippendorff alpha, from raw labels", *alpha(reliability_data=raw.astype(float)), ours)


def peers_on_frames(item: np.ndarray, label: np.ndarray, ours: float) -> None:
    if len(item) > 500_000:
        return
    worker = np.tile(np.arange(RATERS), len(item) // RATERS)
    try:
        import simpledorff
    except ImportError:
        print("  simpledorff is not installed")
        return
    frame = pd.DataFrame({"i": item, "w": worker, "l": label})
    peer = clock(lambda: simpledorff.calculate_krippendorffs_alpha_for_df(frame, "i", "w", "l"), 1)
    line("simpledorff alpha, from a data frame", *peer, ours)


def aggregation(items: int) -> None:
    item, label = crowd(items, 3)
    rng = np.random.default_rng(1)
    worker = rng.integers(0, 200, len(item))
    frame = pd.DataFrame({"task": item, "worker": worker, "label": label})
    frame = frame.drop_duplicates(["task", "worker"], keep="last")
    votes = encode_votes(frame, item="task", worker="worker", label="label")
    print(f"Dawid-Skene, {items:,} items x {RATERS}, 200 workers, 3 labels")
    start = time.perf_counter()
    model = dawid_skene(votes, tolerance=1e-9)
    ours = time.perf_counter() - start
    steps = len(model.log_likelihood)
    print(f"  pairs-to-words  {ours:.3f} s, {steps} iterations, {model.log_likelihood[-1]:.6f}")
    try:
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        print("  crowd-kit is not installed")
        return
    start = time.perf_counter()
    DawidSkene(n_iter=steps, tol=0).fit(frame)
    peer = time.perf_counter() - start
    print(f"  crowd-kit       {peer:.3f} s for as many iterations, {peer / ours:.1f} x")


if __name__ == "__main__":
    sizes = [int(text) for text in sys.argv[1:]] or [100_000, 1_000_000]
    for size in sizes:
        agreement(size, 3)
    agreement(min(sizes), 100)
    aggregation(min(sizes))
