"""What every captioning model offers to the training loop and to decoding."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True)
class DecoderState:
    """Where decoding stands.

    Attributes:
        item: Tensors per item, first axis B; never reordered.
        past: Tensors per hypothesis, first axis B*K, such as cached keys and values.
        length: Tokens fed so far.
    """

    item: tuple[Tensor, ...]
    past: tuple[Tensor, ...] = ()
    length: int = 0

    def reorder(self, rows: Tensor) -> DecoderState:
        """Return the state whose hypothesis i continues the old hypothesis `rows[i]`."""
        past = tuple(tensor.index_select(0, rows) for tensor in self.past)
        return DecoderState(self.item, past, self.length)


class CaptionModel(nn.Module):
    """A model that writes a text about two photos' grid features."""

    @abstractmethod
    def encode(self, grids_1: Tensor, grids_2: Tensor) -> Tensor:
        """Return what the decoder looks at, (B, S, d), from two grids (B, cells, features)."""

    @abstractmethod
    def decode(self, memory: Tensor, inputs: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return logits (B, T, V) for the token after each of `inputs` (B, T): training.

        Text i is about row `rows[i]` of `memory`, or about row i when `rows` is None.
        """

    @abstractmethod
    def start(self, memory: Tensor) -> DecoderState:
        """Return the state before the first token."""

    @abstractmethod
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Feed one token per hypothesis (B*K); return logits (B*K, V) and the next state."""

    def forward(self, grids_1: Tensor, grids_2: Tensor, inputs: Tensor) -> Tensor:
        """Return logits (B, T, V) under teacher forcing."""
        return self.decode(self.encode(grids_1, grids_2), inputs)
