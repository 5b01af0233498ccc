"""From several judgments per item to one label: majority, k of n, Dawid-Skene and one-coin.

Every method is worth only what it adds to majority vote: `compare` puts them side by side.
Ties are reported and never broken by row or alphabet order.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pairs_to_words.project.errors import UserError
from pairs_to_words.qc.counts import Counts, Floats, Ints, add_up

NO_LABEL = "-"
"""What a published data set writes where no label has enough votes (SNLI's convention)."""

Ties = Literal["none", "refuse"]

# An exact zero in the start stays zero for ever and can keep EM from the maximum: on
# BarzanMozafari's data it ends at -2094.7541 in the place of -2094.7468.
_START_FLOOR = 1e-9


@dataclass(frozen=True)
class Votes:
    """Judgments as codes.

    Attributes:
        item, worker, label: int64 (judgments,), codes from 0.
        items, workers, labels: What the codes stand for.
    """

    item: Ints
    worker: Ints
    label: Ints
    items: tuple[Hashable, ...]
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]


@dataclass(frozen=True)
class DawidSkene:
    """A fitted Dawid-Skene model.

    Attributes:
        posterior: float64 (items, labels), probability of each true label.
        prior: float64 (labels,).
        confusion: float64 (workers, true label, given label); rows sum to 1. A true label that a
            worker never met has a row of zeros.
        log_likelihood: Of all judgments, after each iteration; never falls.
        converged: The relative change fell below the tolerance.
    """

    posterior: Floats
    prior: Floats
    confusion: Floats
    log_likelihood: tuple[float, ...]
    converged: bool

    def skill(self) -> Floats:
        """Return float64 (workers,): probability that a worker is right, by the prior."""
        right = np.einsum("wkk->wk", self.confusion)
        return np.asarray(right @ self.prior, dtype=np.float64)

    def difficulty(self) -> Floats:
        """Return float64 (items,): entropy of the posterior in bits; 0 is certain."""
        p = np.clip(self.posterior, 1e-300, 1)
        return np.asarray(-(self.posterior * np.log2(p)).sum(axis=1), dtype=np.float64)


def encode_votes(frame: pd.DataFrame, *, item: str, worker: str, label: str) -> Votes:
    """Encode a long table; a worker's later judgment of an item replaces the earlier.

    Items, workers and labels are numbered in sorted order, so row order changes nothing.

    Raises:
        UserError: There is no judgment.
    """
    rows = frame[frame[label].notna()].drop_duplicates([item, worker], keep="last")
    if rows.empty:
        raise UserError("There is no judgment to aggregate.", "Give rows with labels.")
    codes, names = zip(
        *(pd.factorize(rows[column], sort=True) for column in (item, worker, label)), strict=True
    )
    return Votes(*(code.astype(np.int64) for code in codes), *(tuple(name) for name in names))


def majority(counts: Counts, ties: Ties = "none") -> list[Hashable | None]:
    """Return each item's most frequent label, None where labels are tied or there is none.

    Raises:
        UserError: `ties="refuse"` and an item is tied.
    """
    best, unique = _best(counts)
    tied = [i for i in range(counts.n_items) if best[i] >= 0 and not unique[i]]
    if ties == "refuse" and tied:
        raise UserError(
            f"{len(tied):,} items are tied (the first: item {tied[0]}).",
            "Collect one more judgment for each, or take ties as undecided.",
        )
    return [
        counts.labels[best[i]] if best[i] >= 0 and unique[i] else None
        for i in range(counts.n_items)
    ]


def k_of_n(counts: Counts, k: int) -> list[Hashable]:
    """Return each item's label with at least `k` votes, `-` where none or more than one has."""
    enough = counts.count >= k
    reached = add_up(counts.item, enough.astype(float), counts.n_items)
    labels: list[Hashable] = [NO_LABEL] * counts.n_items
    for item, label in zip(counts.item[enough], counts.label[enough], strict=True):
        if reached[item] == 1:
            labels[item] = counts.labels[label]
    return labels


def dawid_skene(
    votes: Votes, *, tolerance: float = 1e-9, max_iterations: int = 10_000, one_coin: bool = False
) -> DawidSkene:
    """Fit Dawid and Skene's model by expectation-maximisation, without smoothing.

    Dawid & Skene 1979, equations 2.3 to 2.5, from a start of each item's label shares. The
    expectation is computed in logarithms, the maximisation by one weighted count, so the
    likelihood never falls.

    Args:
        votes: The judgments.
        tolerance: Stop when the log-likelihood's relative change is below.
        max_iterations: Stop here at the latest.
        one_coin: One accuracy per worker, the same for every true label, in the place of a
            confusion matrix; wrong labels are equally likely.
    """
    n_items, n_labels = len(votes.items), len(votes.labels)
    cell = votes.item * n_labels + votes.label
    posterior = add_up(cell, np.ones(len(cell)), n_items * n_labels).reshape(n_items, n_labels)
    posterior /= posterior.sum(axis=1, keepdims=True)
    posterior = (1 - _START_FLOOR) * posterior + _START_FLOOR / n_labels
    likelihoods: list[float] = []
    converged = False
    while not converged and len(likelihoods) < max_iterations:
        prior = posterior.mean(axis=0)
        confusion = _maximise(votes, posterior, one_coin)
        posterior, likelihood = _expect(votes, prior, confusion)
        if likelihoods:
            converged = abs(likelihood - likelihoods[-1]) <= tolerance * abs(likelihood)
        likelihoods.append(likelihood)
    return DawidSkene(posterior, prior, confusion, tuple(likelihoods), converged)


def likeliest_label(model: DawidSkene, votes: Votes) -> list[Hashable | None]:
    """Return each item's most probable label, None where two are equally probable."""
    top = model.posterior.max(axis=1, keepdims=True)
    unique = (model.posterior >= top - 1e-12).sum(axis=1) == 1
    best = model.posterior.argmax(axis=1)
    return [votes.labels[b] if u else None for b, u in zip(best, unique, strict=True)]


def compare(frame: pd.DataFrame, *, item: str, worker: str, label: str) -> pd.DataFrame:
    """Return one row per item with majority vote, Dawid-Skene and one-coin side by side.

    Returns:
        Index: items in sorted order. Columns: votes, majority (None on a tie), dawid_skene,
        one_coin, probability (of Dawid-Skene's label), difficulty (bits), differs (Dawid-Skene
        and majority disagree).
    """
    from pairs_to_words.qc.counts import count_cells

    votes = encode_votes(frame, item=item, worker=worker, label=label)
    counts = count_cells(votes.item, votes.label, len(votes.items), votes.labels)
    model = dawid_skene(votes)
    coin = dawid_skene(votes, one_coin=True)
    table = pd.DataFrame(
        {
            "votes": counts.judgments_per_item(),
            "majority": majority(counts),
            "dawid_skene": likeliest_label(model, votes),
            "one_coin": likeliest_label(coin, votes),
            "probability": model.posterior.max(axis=1),
            "difficulty": model.difficulty(),
        },
        index=pd.Index(votes.items, name=item),
    )
    return table.assign(differs=table["majority"] != table["dawid_skene"])


def _best(counts: Counts) -> tuple[Ints, Ints]:
    """Return per item the label with most votes (-1 without votes) and whether it is alone."""
    most = np.zeros(counts.n_items, dtype=np.int64)
    np.maximum.at(most, counts.item, counts.count)
    top = counts.count == most[counts.item]
    best = np.full(counts.n_items, -1, dtype=np.int64)
    best[counts.item[top]] = counts.label[top]
    alone = add_up(counts.item, top.astype(float), counts.n_items) == 1
    return best, alone.astype(np.int64)


def _maximise(votes: Votes, posterior: Floats, one_coin: bool) -> Floats:
    """Return confusion matrices, float64 (workers, true, given)."""
    n_workers, n_labels = len(votes.workers), len(votes.labels)
    weight = posterior[votes.item]
    joint = np.empty((n_workers, n_labels, n_labels))
    cell = votes.worker * n_labels + votes.label
    for true in range(n_labels):
        joint[:, true, :] = add_up(
            cell, np.ascontiguousarray(weight[:, true]), n_workers * n_labels
        ).reshape(n_workers, n_labels)
    if one_coin:
        right = np.einsum("wkk->w", joint) / joint.sum(axis=(1, 2))
        wrong = (1 - right) / max(n_labels - 1, 1)
        same: Floats = np.eye(n_labels)
        coin: Floats = right[:, None, None] * same + wrong[:, None, None] * (1 - same)
        return coin
    total = joint.sum(axis=2, keepdims=True)
    confusion: Floats = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    return confusion


def _expect(votes: Votes, prior: Floats, confusion: Floats) -> tuple[Floats, float]:
    """Return posteriors and the log-likelihood of all judgments."""
    with np.errstate(divide="ignore"):
        logs = np.log(confusion)
        log_posterior = np.tile(np.log(prior), (len(votes.items), 1))
    for true in range(len(votes.labels)):
        terms = logs[votes.worker, true, votes.label]
        log_posterior[:, true] += _add_logs(votes.item, terms, len(votes.items))
    top = log_posterior.max(axis=1, keepdims=True)
    shifted = np.exp(log_posterior - top)
    total = shifted.sum(axis=1, keepdims=True)
    return shifted / total, float((top + np.log(total)).sum())


def _add_logs(index: Ints, terms: Floats, size: int) -> Floats:
    """Sum logarithms per index; an impossible judgment makes its sum minus infinity."""
    impossible = np.isneginf(terms)
    total: Floats = add_up(index, np.where(impossible, 0.0, terms), size)
    total[index[impossible]] = -np.inf
    return total
