"""Post-norm Transformer layers with a key-value cache (Vaswani et al. 2017)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Multi-head scaled dot-product attention.

    Args:
        width: d, the model width.
        heads: Number of heads; divides `width`.

    The weights have no dropout (the layers' branches have): fused kernels need that, and a step
    on a CPU is twice as fast.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.output = nn.Linear(width, width)

    def keys_values(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of `source` (B, S, d), each (B, heads, S, d / heads)."""
        keys, values = self.key_value(source).chunk(2, dim=-1)
        return self._split(keys), self._split(values)

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, *, causal: bool = False
    ) -> Tensor:
        """Attend from `query` (B, T, d) to keys and values; return (B, T, d)."""
        attended = functional.scaled_dot_product_attention(
            self._split(self.query(query)), keys, values, is_causal=causal
        )
        result: Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return result

    def weights(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the attention weights alone, (B, heads, T, S), for looking at."""
        split = self._split(self.query(query))
        return (split @ keys.transpose(-2, -1) / math.sqrt(split.shape[-1])).softmax(dim=-1)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.heads, -1).transpose(1, 2)


class FeedForward(nn.Sequential):
    """Two linear layers with ReLU and dropout between them."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__(
            nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, width)
        )


class EncoderLayer(nn.Module):
    """C_H = LN(C + MHA(C)); C = LN(C_H + FF(C_H)): one layer of the comparative module."""

    def __init__(self, width: int, heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.feedforward = FeedForward(width, feedforward, dropout)
        self.norm_attention = nn.LayerNorm(width)
        self.norm_feedforward = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, S, d) to (B, S, d)."""
        x = self.norm_attention(x + self.dropout(self.attention(x, *self.attention.keys_values(x))))
        result: Tensor = self.norm_feedforward(x + self.dropout(self.feedforward(x)))
        return result


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the comparison, feed-forward; each with LN(x + f(x))."""

    def __init__(self, width: int, heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = Attention(width, heads)
        self.cross_attention = Attention(width, heads)
        self.feedforward = FeedForward(width, feedforward, dropout)
        self.norm_self = nn.LayerNorm(width)
        self.norm_cross = nn.LayerNorm(width)
        self.norm_feedforward = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: tuple[Tensor, Tensor]) -> Tensor:
        """Map all positions of (B, T, d) at once, each seeing only those before it."""
        keys, values = self.self_attention.keys_values(x)
        x = self.norm_self(x + self.dropout(self.self_attention(x, keys, values, causal=True)))
        x = self.norm_cross(x + self.dropout(self.cross_attention(x, *memory)))
        result: Tensor = self.norm_feedforward(x + self.dropout(self.feedforward(x)))
        return result

    def step(
        self, x: Tensor, memory: tuple[Tensor, Tensor], past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Map one new position of B x K hypotheses, (B*K, 1, d), with the cached keys and values.

        `memory` has B rows: the K hypotheses of an item attend to it together, uncopied.
        """
        keys, values = self.self_attention.keys_values(x)
        if past is not None:
            keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
        x = self.norm_self(x + self.self_attention(x, keys, values))
        grouped = x.view(memory[0].shape[0], -1, x.shape[-1])
        x = self.norm_cross(grouped + self.cross_attention(grouped, *memory))
        x = self.norm_feedforward(x + self.feedforward(x))
        return x.reshape(-1, 1, x.shape[-1]), (keys, values)


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """Return the sine-cosine code (len(positions), width) of Vaswani et al., section 3.5."""
    half = torch.arange(0, width, 2, device=positions.device, dtype=torch.float32)
    angles = positions.float()[:, None] * torch.exp(-math.log(10_000.0) * half / width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


def grid_code(side: int, width: int) -> Tensor:
    """Return the two-dimensional sine-cosine code of a side x side grid, (side * side, width)."""
    line = sinusoidal(torch.arange(side), width // 2)
    rows = line[:, None, :].expand(side, side, -1)
    columns = line[None, :, :].expand(side, side, -1)
    code = torch.cat([rows, columns], dim=-1).reshape(side * side, -1)
    return functional.pad(code, (0, width - code.shape[-1]))
