"""How each annotator's labels compare with their peers' and with gold.

Input is one task's label judgments. Agreement is measured against the majority of the *other*
workers on the same item and field, never a majority that includes the worker. Items where the
others are tied say nothing and are left out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from pairs_to_words.qc.counts import Floats, Ints, add_up
from statsmodels.stats.proportion import proportion_confint

UNDECIDED = -1


def peer_comparison(judgments: pd.DataFrame) -> pd.DataFrame:
    """Compare each judgment with the majority of the other workers on the same item and field.

    Args:
        judgments: Columns item_id, field, worker_id, value, one row per worker, item and field.

    Returns:
        The rows, in order, plus `reference` (the others' majority label, None when they are tied
        or there are none) and `agrees` (NaN without a reference).
    """
    unit = pd.MultiIndex.from_frame(judgments[["item_id", "field"]])
    item, _ = pd.factorize(unit, sort=False)
    label, labels = pd.factorize(judgments["value"], sort=True)
    majority = _majority_of_others(item.astype(np.int64), label.astype(np.int64), len(labels))
    named = np.append(np.array(labels, dtype=object), [None])
    return judgments.assign(
        reference=named[majority],
        agrees=np.where(majority == UNDECIDED, np.nan, (majority == label).astype(float)),
    )


def with_gold(judgments: pd.DataFrame, gold: dict[tuple[str, str], str]) -> pd.DataFrame:
    """Compare each judgment with the known label of its (item, field); same columns as above."""
    keys = zip(judgments["item_id"], judgments["field"], strict=True)
    reference = [gold.get(key) for key in keys]
    agrees = [
        np.nan if known is None else float(known == value)
        for known, value in zip(reference, judgments["value"], strict=True)
    ]
    return judgments.assign(reference=pd.Series(reference, index=judgments.index), agrees=agrees)


def summarise(compared: pd.DataFrame) -> pd.DataFrame:
    """Sum up a comparison per worker.

    Returns:
        Index worker_id; columns n (comparisons), hits, agreement, low, high (Wilson, 95 %),
        chance (agreement expected from the labels' frequencies alone), skill (Cohen's kappa with
        the reference; 1 is perfect, 0 is chance), skill_low and skill_high (from the Wilson
        interval, chance held fixed), missed (references unlike the worker's usual label) and
        constant (the worker has one label only).
    """
    rows = compared[compared["agrees"].notna()]
    worker, names = pd.factorize(rows["worker_id"], sort=True)
    worker = worker.astype(np.int64)
    n = add_up(worker, np.ones(len(rows)), len(names))
    hits = add_up(worker, rows["agrees"].to_numpy(dtype=float), len(names))
    chance, missed, constant = _chance(rows, worker, len(names))
    low, high = _wilson(hits, n)
    agreement = hits / np.maximum(n, 1)
    room = np.where(chance < 1, 1 - chance, np.nan)
    return pd.DataFrame(
        {
            "n": n.astype(int),
            "hits": hits.astype(int),
            "agreement": agreement,
            "low": low,
            "high": high,
            "chance": chance,
            "skill": (agreement - chance) / room,
            "skill_low": (low - chance) / room,
            "skill_high": (high - chance) / room,
            "missed": missed.astype(int),
            "constant": constant,
        },
        index=pd.Index(names, name="worker_id"),
    )


def drift(compared: pd.DataFrame) -> pd.DataFrame:
    """Compare each worker's first half with their second half, in order of arrival.

    Rows without a time have no order and are left out.

    Returns:
        Index worker_id; columns first and second (agreement of the halves) and z (two-proportion
        statistic; negative when the worker became worse).
    """
    rows = compared[compared["agrees"].notna() & (compared["submitted_at"] != "")]
    order = rows.sort_values(["submitted_at", "item_id", "field"], kind="stable")
    place = order.groupby("worker_id").cumcount()
    size = order.groupby("worker_id")["worker_id"].transform("size")
    order = order.assign(half=(place >= size / 2).astype(int))
    worker, names = pd.factorize(order["worker_id"], sort=True)
    cell = worker.astype(np.int64) * 2 + order["half"].to_numpy(dtype=np.int64)
    hits = add_up(cell, order["agrees"].to_numpy(dtype=float), 2 * len(names)).reshape(-1, 2)
    n = add_up(cell, np.ones(len(order)), 2 * len(names)).reshape(-1, 2)
    rate = hits / np.maximum(n, 1)
    pooled = hits.sum(axis=1) / np.maximum(n.sum(axis=1), 1)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / np.maximum(n, 1)).sum(axis=1))
    z = np.where(spread > 0, (rate[:, 1] - rate[:, 0]) / np.where(spread > 0, spread, 1), 0.0)
    return pd.DataFrame({"first": rate[:, 0], "second": rate[:, 1], "z": z}, index=names)


def entropy(judgments: pd.DataFrame) -> pd.Series[float]:
    """Return worker_id -> entropy of their labels in bits, mean over fields (0: always one)."""
    counted = judgments.groupby(["worker_id", "field", "value"]).size()
    share = counted / counted.groupby(level=[0, 1]).transform("sum")
    bits = -(share * np.log2(share)).groupby(level=[0, 1]).sum()
    return bits.groupby(level=0).mean()


def _majority_of_others(item: Ints, label: Ints, n_labels: int) -> Ints:
    """Return int64 (judgments,): the label that most others gave, UNDECIDED on a tie."""
    n_items = int(item.max()) + 1 if len(item) else 0
    table = np.bincount(item * n_labels + label, minlength=n_items * n_labels)
    table = table.reshape(n_items, n_labels)
    majority = np.full(len(item), UNDECIDED, dtype=np.int64)
    block = max(1, 4_000_000 // max(n_labels, 1))
    for start in range(0, len(item), block):
        rows = slice(start, start + block)
        others = table[item[rows]]
        others[np.arange(len(others)), label[rows]] -= 1
        top = others.max(axis=1)
        decided = (top > 0) & ((others == top[:, None]).sum(axis=1) == 1)
        majority[rows] = np.where(decided, others.argmax(axis=1), UNDECIDED)
    return majority


def _chance(
    rows: pd.DataFrame, worker: Ints, n_workers: int
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return per worker: chance agreement (fields weighted), missed references, constant."""
    total = np.zeros(n_workers)
    expected = np.zeros(n_workers)
    missed = np.zeros(n_workers)
    constant = np.ones(n_workers, dtype=bool)
    for _field, positions in rows.groupby("field").indices.items():
        part = rows.iloc[positions]
        who = worker[positions]
        values = pd.concat([part["value"], part["reference"]])
        codes, labels = pd.factorize(values)
        width = len(labels)
        shape = (n_workers, width)
        given = add_up(who * width + codes[: len(part)], np.ones(len(part)), n_workers * width)
        known = add_up(who * width + codes[len(part) :], np.ones(len(part)), n_workers * width)
        given, known = given.reshape(shape), known.reshape(shape)
        n = given.sum(axis=1)
        expected += (given * known).sum(axis=1) / np.maximum(n, 1)
        total += n
        usual = given.argmax(axis=1)
        missed += np.where(n > 0, n - known[np.arange(n_workers), usual], 0)
        constant &= given.max(axis=1) == n
    return expected / np.maximum(total, 1), missed, constant


def _wilson(hits: Floats, n: Floats) -> tuple[Floats, Floats]:
    low, high = proportion_confint(hits, np.maximum(n, 1), alpha=0.05, method="wilson")
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
