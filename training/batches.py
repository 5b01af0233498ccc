"""Training examples as tensors, and the order in which an epoch visits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.training.config import TrainSection
from pairs_to_words.training.data import DescribedPair
from pairs_to_words.training.features import GridScale, GridStore
from pairs_to_words.training.vocabulary import PAD, START, Vocabulary
from torch import Tensor

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PairGrids:
    """The grids that pairs use, in memory once, with each pair's two rows."""

    grids: Tensor
    sides: Indices

    def sides_of(self, pairs: Indices, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return both grids of the chosen pairs, float32, (N, cells, features) each."""
        one, two = (self.grids[torch.from_numpy(self.sides[pairs, side])] for side in (0, 1))
        return one.to(device, torch.float32), two.to(device, torch.float32)


def pair_grids(
    pairs: Sequence[DescribedPair], store: GridStore, scale: GridScale | None
) -> PairGrids:
    """Collect the grids of `pairs`; with a scale they are reduced, else kept as float16."""
    photos = sorted({photo for pair in pairs for photo in (pair.photo_1, pair.photo_2)})
    place = {photo: index for index, photo in enumerate(photos)}
    gathered = store.gather(photos)
    grids = scale.apply(gathered) if scale is not None else torch.from_numpy(gathered)
    sides = np.array([[place[p.photo_1], place[p.photo_2]] for p in pairs], dtype=np.int64)
    return PairGrids(grids, sides)


@dataclass(frozen=True)
class Examples:
    """One example per text: its tokens and its pair."""

    tokens: list[list[int]]
    pair_of: Indices
    grids: PairGrids


@dataclass(frozen=True)
class Batch:
    """A training batch.

    Attributes:
        grids_1: Grids of photo 1 of the batch's distinct pairs, (P, cells, features).
        grids_2: Grids of photo 2.
        rows: Which of the P pairs each text is about, (B,).
        inputs: Token ids from START on, padded, (B, T).
        targets: The ids that follow, padded, (B, T).
    """

    grids_1: Tensor
    grids_2: Tensor
    rows: Tensor
    inputs: Tensor
    targets: Tensor


def examples_of(
    pairs: Sequence[DescribedPair], vocabulary: Vocabulary, grids: PairGrids, max_tokens: int
) -> Examples:
    """Return one example per text of `pairs`, in order."""
    tokens = [vocabulary.encode(text, max_tokens) for pair in pairs for text in pair.texts]
    counts = [len(pair.texts) for pair in pairs]
    return Examples(tokens, np.repeat(np.arange(len(pairs)), counts), grids)


def epoch_order(
    examples: Examples, config: TrainSection, *, seed: int, epoch: int
) -> list[Indices]:
    """Return the epoch's batches as example indices: a function of seed and epoch alone.

    Pairs are shuffled and the texts of a pair stay together, so that a batch encodes few pairs:
    encoding the grids is most of a step's work.
    """
    rng = keyed_rng(seed, "epoch", epoch)
    place = rng.permutation(int(examples.pair_of.max()) + 1)[examples.pair_of]
    order = np.argsort(place, kind="stable")
    if config.batch_unit == "examples":
        batches = np.split(order, range(config.batch_size, len(order), config.batch_size))
    else:
        size = np.array([len(ids) for ids in examples.tokens], dtype=np.int64)[order]
        number = (np.cumsum(size) - 1) // config.batch_size
        batches = np.split(order, np.flatnonzero(np.diff(number)) + 1)
    return [batches[index] for index in rng.permutation(len(batches))]


def make_batch(examples: Examples, chosen: Indices, device: torch.device) -> Batch:
    """Lay out the chosen examples; each pair's grids are taken once however many its texts."""
    pairs, rows = np.unique(examples.pair_of[chosen], return_inverse=True)
    texts = [examples.tokens[index] for index in chosen]
    targets = torch.full((len(texts), max(map(len, texts))), PAD, dtype=torch.long)
    for row, ids in enumerate(texts):
        targets[row, : len(ids)] = torch.tensor(ids)
    inputs = torch.nn.functional.pad(targets, (1, -1), value=PAD)
    inputs[:, 0] = START
    one, two = examples.grids.sides_of(pairs, device)
    return Batch(
        one,
        two,
        torch.from_numpy(rows.reshape(-1)).to(device),
        inputs.to(device),
        targets.to(device),
    )
