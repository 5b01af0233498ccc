"""Neural Naturalist and its decoding: caches change nothing, beams are right, photos have order."""

from __future__ import annotations

import itertools

import pytest
import torch
from pairs_to_words.training.config import ModelSection
from pairs_to_words.training.decoding import beam_search, decode, next_scores
from pairs_to_words.training.models.neural_naturalist import JOINT, NeuralNaturalist
from pairs_to_words.training.vocabulary import END, START

WORDS, CELLS, FEATURES = 9, 4, 6


def tiny(**settings: object) -> NeuralNaturalist:
    torch.manual_seed(0)
    section = ModelSection(
        width=16, heads=2, feedforward=32, encoder_layers=1, decoder_layers=2, **settings
    )
    model = NeuralNaturalist(section, vocabulary_size=WORDS, features=FEATURES, cells=CELLS)
    for parameter in model.output.parameters():  # peaked, so that sequences differ and end
        parameter.data.mul_(4)
    return model.eval()


def grids(pairs: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    one, two = torch.randn(2, pairs, CELLS, FEATURES, generator=generator)
    return one, two


@torch.no_grad()
def uncached_greedy(model: NeuralNaturalist, memory: torch.Tensor, length: int) -> list[list[int]]:
    texts = []
    for row in memory:
        ids = [START]
        while len(ids) <= length:
            logits = model.decode(row[None], torch.tensor([ids]))[:, -1]
            ids.append(int(next_scores(logits).argmax()))
            if ids[-1] == END:
                break
        texts.append([token for token in ids[1:] if token != END])
    return texts


@torch.no_grad()
def test_cached_decoding_writes_what_uncached_decoding_writes() -> None:
    model = tiny()
    memory = model.encode(*grids())
    cached = decode(model, memory, method="greedy", max_tokens=12)
    assert cached == uncached_greedy(model, memory, 12)
    assert len({tuple(text) for text in cached}) > 1


@torch.no_grad()
def test_a_beam_of_one_is_greedy() -> None:
    model = tiny()
    memory = model.encode(*grids())
    greedy = decode(model, memory, method="greedy", max_tokens=10)
    assert decode(model, memory, method="beam", beam_size=1, max_tokens=10) == greedy


@torch.no_grad()
def test_a_wide_beam_finds_the_most_probable_text_of_all() -> None:
    model = tiny()
    memory = model.encode(*grids(2))
    longest = 3
    found = beam_search(model, memory, beam_size=300, max_tokens=longest, length_penalty=0.0)
    for row, hypotheses in zip(memory, found, strict=True):
        scores = {
            text: probability_of(model, row, text, longest)
            for length in range(longest + 1)
            for text in itertools.product(range(4, WORDS), repeat=length)
        }
        best = max(scores, key=lambda text: scores[text])
        assert tuple(hypotheses[0][0]) == best
        assert hypotheses[0][1] == pytest.approx(scores[best], abs=1e-4)
        listed = [score for _text, score in hypotheses]
        assert listed == sorted(listed, reverse=True)


def probability_of(
    model: NeuralNaturalist, row: torch.Tensor, text: tuple[int, ...], longest: int
) -> float:
    """Log-probability of a text; at the longest length it need not end."""
    targets = [*text, END][:longest]
    inputs = torch.tensor([[START, *text][: len(targets)]])
    scores = next_scores(model.decode(row[None], inputs)[0])
    return float(scores[torch.arange(len(targets)), torch.tensor(targets)].sum())


@torch.no_grad()
def test_texts_of_one_pair_share_its_encoding() -> None:
    model = tiny()
    memory = model.encode(*grids(2))
    inputs = torch.tensor([[START, 4, 5], [START, 6, 7], [START, 5, 5]])
    rows = torch.tensor([1, 0, 1])
    shared = model.decode(memory, inputs, rows)
    assert torch.allclose(shared, model.decode(memory[rows], inputs), atol=1e-6)


@pytest.mark.parametrize(("joint", "told_apart"), [("mul", True), ("max", True), ("add", False)])
@torch.no_grad()
def test_read_literally_the_paper_cannot_tell_the_photos_apart(
    joint: str, told_apart: bool
) -> None:
    # Marks on the photos help a product and a maximum; a sum of marked photos is still symmetric.
    one, two = grids()
    inputs = torch.full((5, 1), START)
    literal, marked = tiny(joint=(joint,), paper_literal=True), tiny(joint=(joint,))
    change = [
        (model(one, two, inputs) - model(two, one, inputs)).abs().max()
        for model in (literal, marked)
    ]
    assert change[0] < 1e-5
    assert (change[1] > 1e-3) == told_apart


def test_every_joint_part_adds_one_grid_to_the_sequence() -> None:
    one, two = grids(3)
    for count in range(1, len(JOINT) + 1):
        memory = tiny(joint=tuple(JOINT)[:count]).encode(one, two)
        assert memory.shape == (3, count * CELLS, 16)


def test_a_later_word_never_changes_an_earlier_prediction() -> None:
    model = tiny()
    memory = model.encode(*grids(1))
    first = model.decode(memory, torch.tensor([[START, 4, 5, 6]]))
    other = model.decode(memory, torch.tensor([[START, 4, 8, 7]]))
    assert torch.allclose(first[:, :2], other[:, :2], atol=1e-6)
    assert not torch.allclose(first[:, 2:], other[:, 2:], atol=1e-3)
