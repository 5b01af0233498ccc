"""What a trained model writes, and how it scores beside the baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.seeds import keyed_hash
from pairs_to_words.training.batches import PairGrids
from pairs_to_words.training.config import DecodeSection
from pairs_to_words.training.data import DescribedPair
from pairs_to_words.training.decoding import decode
from pairs_to_words.training.metrics import score
from pairs_to_words.training.models.caption import CaptionModel
from pairs_to_words.training.vocabulary import MENTION_RULE, Vocabulary

CHUNK = 64  # pairs decoded together
COLLAPSE_SHARE = 0.5
"""A model that writes one text for more than this share of the pairs has collapsed: the paper's
early stopping on CIDEr-D ended with 95 % "these animals appear exactly the same"."""

SIGNATURE = {
    "tokenizer": "ptb",
    "backend": "pairs-to-words",
    "cider": "CIDEr-D",
    "mentions": MENTION_RULE,
}
"""How the numbers came about, to be printed wherever they are."""


def write_texts(
    model: CaptionModel,
    vocabulary: Vocabulary,
    grids: PairGrids,
    settings: DecodeSection,
    *,
    seed: int,
    device: torch.device,
    swapped: bool = False,
    progress: Progress = no_progress,
) -> list[str]:
    """Return the model's text for each pair of `grids`, in order.

    Args:
        model: Put into evaluation mode.
        vocabulary: The model's.
        grids: Pairs to describe.
        settings: Decoding method and its options.
        seed: Seed of multinomial sampling.
        device: Where the model is.
        swapped: Show the photos in the other order.
        progress: Shows pairs described.
    """
    model.eval()
    generator = torch.Generator(device).manual_seed(keyed_hash(seed, "decode") >> 1)
    texts: list[str] = []
    with progress("describe", total=len(grids.sides), unit="pairs") as advance:
        for start in range(0, len(grids.sides), CHUNK):
            chosen = np.arange(start, min(start + CHUNK, len(grids.sides)))
            one, two = grids.sides_of(chosen, device)
            with torch.no_grad():
                memory = model.encode(*((two, one) if swapped else (one, two)))
            ids = decode(
                model,
                memory,
                method=settings.method,
                max_tokens=settings.max_tokens,
                beam_size=settings.beam_size,
                length_penalty=settings.length_penalty,
                temperature=settings.temperature,
                generator=generator,
            )
            texts += [
                vocabulary.text(whole_sentences(row, vocabulary, settings.max_tokens))
                for row in ids
            ]
            advance(len(chosen))
    return texts


def whole_sentences(ids: list[int], vocabulary: Vocabulary, limit: int) -> list[int]:
    """Return a text that ran into the limit without the sentence that it could not finish."""
    stop = vocabulary.ids.get(".")
    if len(ids) < limit or stop not in ids:
        return ids
    return ids[: len(ids) - ids[::-1].index(stop)]


def result_row(name: str, texts: Sequence[str], pairs: Sequence[DescribedPair]) -> dict[str, Any]:
    """Return one row of a results table: scores against all texts of each pair, and collapse."""
    scores = score(texts, [pair.texts for pair in pairs]).summary()
    commonest = Counter(texts).most_common(1)[0][1]
    return {
        "model": name,
        **scores,
        "n_pairs": len(pairs),
        "distinct_texts": len(set(texts)),
        "commonest_share": commonest / len(texts),
    }


def changed_share(texts: Sequence[str], swapped: Sequence[str]) -> float:
    """Return swap sensitivity: the share of pairs whose text changes when the photos change places.

    0 means that the model cannot tell photo 1 from photo 2.
    """
    return sum(a != b for a, b in zip(texts, swapped, strict=True)) / len(texts)
