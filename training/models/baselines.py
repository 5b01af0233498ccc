"""Baselines that copy training texts (paper, section 5.2): no image, or only its nearest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.training.data import DescribedPair

MOST_FREQUENT, TEXT_ONLY, NEAREST = "most-frequent", "text-only", "nearest-neighbour"

Vectors = npt.NDArray[np.float32]


def most_frequent(train: Sequence[DescribedPair], pairs: Sequence[DescribedPair]) -> list[str]:
    """Return the most frequent training text for every pair; of equals the first in order."""
    counts = Counter(text for pair in train for text in pair.texts)
    text = min(counts, key=lambda text: (-counts[text], text))
    return [text] * len(pairs)


def text_only(
    train: Sequence[DescribedPair], pairs: Sequence[DescribedPair], *, seed: int
) -> list[str]:
    """Return for each pair a training text drawn by its frequency, keyed by the pair."""
    texts = [text for pair in train for text in pair.texts]
    return [
        texts[keyed_rng(seed, "text-only", pair.pair_id).integers(len(texts))] for pair in pairs
    ]


def nearest_neighbour(
    train: Sequence[DescribedPair],
    pairs: Sequence[DescribedPair],
    vectors: dict[str, Vectors],
    *,
    seed: int,
) -> list[str]:
    """Return a text of the training pair with the least |e(i1)-e(t1)| + |e(i2)-e(t2)|.

    Args:
        train: Pairs that texts are taken from.
        pairs: Pairs to describe.
        vectors: Pooled features of each photo, (features,).
        seed: Which of the nearest pair's texts is taken is drawn with it, keyed by the pair.
    """
    sides = [np.stack([vectors[photo] for photo in photos]) for photos in _photos(train)]
    chosen = []
    for pair in pairs:
        ours = (vectors[pair.photo_1], vectors[pair.photo_2])
        distance = sum(
            np.linalg.norm(side - own, axis=1) for side, own in zip(sides, ours, strict=True)
        )
        texts = train[int(np.argmin(distance))].texts
        chosen.append(texts[keyed_rng(seed, "nearest", pair.pair_id).integers(len(texts))])
    return chosen


def _photos(pairs: Sequence[DescribedPair]) -> tuple[list[str], list[str]]:
    return [pair.photo_1 for pair in pairs], [pair.photo_2 for pair in pairs]
