"""Greedy, multinomial and beam decoding with cached keys and values (paper, section 4.4)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from pairs_to_words.training.models.caption import CaptionModel
from pairs_to_words.training.vocabulary import END, PAD, START, UNKNOWN
from torch import Tensor

Choose = Callable[[Tensor], Tensor]
"""Takes log-probabilities (B, V), returns one token per row (B)."""


def decode(
    model: CaptionModel,
    memory: Tensor,
    *,
    method: str,
    max_tokens: int,
    beam_size: int = 5,
    length_penalty: float = 0.0,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> list[list[int]]:
    """Return one token sequence per item, without start, up to and without end.

    Args:
        model: In evaluation mode.
        memory: The model's encoding of B items, (B, S, d).
        method: `greedy`, `multinomial` or `beam`.
        max_tokens: Tokens generated at most.
        beam_size: Hypotheses kept per item (beam).
        length_penalty: A hypothesis' score is its log-probability over length ** this (beam).
        temperature: Divides the logits (multinomial).
        generator: Source of randomness (multinomial).
    """
    if method == "beam":
        ranked = beam_search(
            model,
            memory,
            beam_size=beam_size,
            max_tokens=max_tokens,
            length_penalty=length_penalty,
        )
        return [hypotheses[0][0] for hypotheses in ranked]
    if method == "greedy":
        return _one_by_one(model, memory, max_tokens, lambda scores: scores.argmax(dim=-1))

    def draw(scores: Tensor) -> Tensor:
        weights = (scores / temperature).softmax(dim=-1)
        return torch.multinomial(weights, 1, generator=generator)[:, 0]

    return _one_by_one(model, memory, max_tokens, draw)


def next_scores(logits: Tensor) -> Tensor:
    """Return log-probabilities over what may be written: never padding, start or unknown."""
    scores = logits.float().clone()
    scores[:, [PAD, START, UNKNOWN]] = -torch.inf
    return scores.log_softmax(dim=-1)


@torch.no_grad()
def _one_by_one(
    model: CaptionModel, memory: Tensor, max_tokens: int, choose: Choose
) -> list[list[int]]:
    state = model.start(memory)
    tokens = torch.full((len(memory),), START, dtype=torch.long, device=memory.device)
    ended = torch.zeros(len(memory), dtype=torch.bool, device=memory.device)
    written: list[Tensor] = []
    for _ in range(max_tokens):
        logits, state = model.step(tokens, state)
        tokens = choose(next_scores(logits)).masked_fill(ended, END)
        written.append(tokens)
        ended |= tokens == END
        if ended.all():
            break
    return [_until_end(row) for row in torch.stack(written, dim=1).tolist()]


@torch.no_grad()
def beam_search(
    model: CaptionModel,
    memory: Tensor,
    *,
    beam_size: int,
    max_tokens: int,
    length_penalty: float = 0.0,
) -> list[list[tuple[list[int], float]]]:
    """Return each item's hypotheses with their scores, best first.

    A hypothesis that ended keeps its place in the beam with its final score; search stops when
    every kept hypothesis has ended, or at `max_tokens`.
    """
    items = len(memory)
    state = model.start(memory)
    device = memory.device
    tokens = torch.full((items,), START, dtype=torch.long, device=device)
    written = torch.zeros((items, 1, 0), dtype=torch.long, device=device)
    totals = torch.zeros((items, 1), device=device)
    ended = torch.zeros((items, 1), dtype=torch.bool, device=device)
    lengths = torch.zeros((items, 1), device=device)
    for _ in range(max_tokens):
        logits, state = model.step(tokens, state)
        scores = next_scores(logits).view(items, -1, logits.shape[-1])
        kept, size = scores.shape[1], scores.shape[2]
        # An ended hypothesis has one continuation, END again, at no cost.
        scores = scores.masked_fill(ended[..., None], -torch.inf)
        scores[..., END] = scores[..., END].masked_fill(ended, 0.0)
        grown = totals[..., None] + scores
        new_lengths = (lengths + ~ended)[..., None].expand_as(grown)
        ranked = (grown / new_lengths**length_penalty).flatten(1)
        best = ranked.topk(min(beam_size, kept * size), dim=1).indices
        parents, chosen = best // size, best % size
        totals = grown.flatten(1).gather(1, best)
        lengths = new_lengths.flatten(1).gather(1, best)
        ended = ended.gather(1, parents) | (chosen == END)
        history = parents[..., None].expand(-1, -1, written.shape[-1])
        written = torch.cat([written.gather(1, history), chosen[..., None]], dim=2)
        rows = (parents + torch.arange(items, device=device)[:, None] * kept).flatten()
        state = state.reorder(rows)
        tokens = chosen.flatten()
        if ended.all():
            break
    final = totals / lengths**length_penalty
    order = final.argsort(dim=1, descending=True, stable=True)
    return [
        [
            (_until_end(written[item, place].tolist()), float(final[item, place]))
            for place in order[item].tolist()
            if torch.isfinite(final[item, place])
        ]
        for item in range(items)
    ]


def _until_end(ids: list[int]) -> list[int]:
    return ids[: ids.index(END)] if END in ids else ids
