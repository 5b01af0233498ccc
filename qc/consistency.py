"""NLVR2's own measures: accuracy with consistency, and how well people do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class HumanPerformance:
    """How well workers do against the original labels.

    Attributes:
        n_judged: Workers with any judgment of another's sentence.
        n_workers: Of these, workers with enough judgments, over whom mean and std are taken.
        mean, std: Unweighted mean and population standard deviation of their accuracy.
    """

    n_judged: int
    n_workers: int
    mean: float
    std: float


def accuracy_and_consistency(
    predicted: pd.Series[str], truth: pd.Series[str], group: pd.Series[str]
) -> tuple[float, float]:
    """Return the share of right items, and the share of groups with every item right.

    Suhr et al. 2019, section 5: a group is one sentence with all of its image pairs. Items that
    are not in `predicted` count as wrong.
    """
    right = truth == predicted.reindex(truth.index)
    whole = right.groupby(group.reindex(truth.index)).all()
    return float(right.mean()), float(whole.mean())


def human_performance(
    judgments: pd.DataFrame,
    truth: Mapping[str, str],
    writers: Mapping[str, str],
    *,
    least: int = 100,
) -> HumanPerformance:
    """Return the accuracy of workers on sentences that others wrote.

    Args:
        judgments: Columns item_id, worker_id, value.
        truth: Item to the original label.
        writers: Item to its writer.
        least: Judgments that a worker needs to be counted.
    """
    others = judgments[judgments["worker_id"] != judgments["item_id"].map(writers)]
    right = others["value"] == others["item_id"].map(truth)
    by_worker = right.groupby(others["worker_id"]).agg(["size", "mean"])
    enough = by_worker["mean"][by_worker["size"] >= least].to_numpy(dtype=float)
    return HumanPerformance(
        n_judged=len(by_worker),
        n_workers=len(enough),
        mean=float(np.mean(enough)) if len(enough) else float("nan"),
        std=float(np.std(enough)) if len(enough) else float("nan"),
    )
