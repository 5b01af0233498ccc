"""Neural Naturalist (Forbes, Kaeser-Chen, Sharma, Belongie, EMNLP 2019), section 4.

Grid features of two photos are projected to the model width, joined element-wise in one or more
ways, compared by a Transformer encoder and described by a Transformer decoder. As printed, no
symmetric joint encoding can tell photo 1 from photo 2 (attention does not see the order of its
memory), so photo and grid-position embeddings are added before the joint encoding unless
`paper_literal` is set.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from pairs_to_words.training.config import ModelSection
from pairs_to_words.training.models.caption import CaptionModel, DecoderState
from pairs_to_words.training.models.layers import DecoderLayer, EncoderLayer, grid_code, sinusoidal
from torch import Tensor, nn

# Section 4.2: J and M, element-wise; several parts are concatenated along the sequence.
JOINT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "i1": lambda one, _two: one,
    "i2": lambda _one, two: two,
    "sub": lambda one, two: one - two,
    "add": lambda one, two: one + two,
    "max": torch.maximum,
    "mul": lambda one, two: one * two,
}


class NeuralNaturalist(CaptionModel):
    """The paper's model.

    Args:
        config: The `[model]` section.
        vocabulary_size: V.
        features: Size of a grid cell's feature vector.
        cells: Grid cells per photo (49 for 7 x 7).
    """

    def __init__(
        self, config: ModelSection, *, vocabulary_size: int, features: int, cells: int
    ) -> None:
        super().__init__()
        width = config.width
        sizes = (width, config.heads, config.feedforward, config.dropout)
        self.joint = config.joint
        self.scale = math.sqrt(width)
        self.project = nn.Sequential(nn.Linear(features, width), nn.LayerNorm(width))
        marked = config.image_slot_embedding and not config.paper_literal
        self.slot = nn.Parameter(torch.zeros(2, width)) if marked else None
        positions = "none" if config.paper_literal else config.grid_position
        self.grid_position = nn.Parameter(torch.zeros(cells, width))
        if positions == "sincos2d":
            self.grid_position.data = grid_code(math.isqrt(cells), width)
        self.grid_position.requires_grad_(positions == "learned")
        self.compare = nn.Sequential(*[EncoderLayer(*sizes) for _ in range(config.encoder_layers)])
        self.embedding = nn.Embedding(vocabulary_size, width)
        self.layers = nn.ModuleList([DecoderLayer(*sizes) for _ in range(config.decoder_layers)])
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(width, vocabulary_size)
        self._initialise(marked, positions == "learned")

    def _initialise(self, marked: bool, learned: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        if marked and self.slot is not None:
            nn.init.normal_(self.slot, std=0.5)
        if learned:
            nn.init.normal_(self.grid_position, std=0.1)

    def encode(self, grids_1: Tensor, grids_2: Tensor) -> Tensor:
        """Return the comparison (B, parts * cells, d) of two grids (B, cells, features)."""
        one = self.project(grids_1) + self.grid_position
        two = self.project(grids_2) + self.grid_position
        if self.slot is not None:
            one, two = one + self.slot[0], two + self.slot[1]
        joined = torch.cat([JOINT[part](one, two) for part in self.joint], dim=1)
        result: Tensor = self.compare(self.dropout(joined))
        return result

    def decode(self, memory: Tensor, inputs: Tensor, rows: Tensor | None = None) -> Tensor:
        """Return logits (B, T, V) for the token after each of `inputs` (B, T)."""
        x = self._embed(inputs, 0)
        for layer in self._decoder:
            keys, values = layer.cross_attention.keys_values(memory)
            if rows is not None:
                keys, values = keys.index_select(0, rows), values.index_select(0, rows)
            x = layer(x, (keys, values))
        result: Tensor = self.output(x)
        return result

    def start(self, memory: Tensor) -> DecoderState:
        """Compute each layer's keys and values of the comparison once."""
        pairs = [layer.cross_attention.keys_values(memory) for layer in self._decoder]
        return DecoderState(tuple(tensor for pair in pairs for tensor in pair))

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Feed one token per hypothesis (B*K); return logits (B*K, V) and the next state."""
        x = self._embed(tokens[:, None], state.length)
        past: list[Tensor] = []
        for index, layer in enumerate(self._decoder):
            pair = slice(2 * index, 2 * index + 2)
            keys, values = state.item[pair]
            cached = (state.past[2 * index], state.past[2 * index + 1]) if state.past else None
            x, new = layer.step(x, (keys, values), cached)
            past += new
        return self.output(x[:, 0]), DecoderState(state.item, tuple(past), state.length + 1)

    def attention(self, memory: Tensor, inputs: Tensor) -> Tensor:
        """Return the last layer's attention to the comparison, mean of heads, (B, T, S)."""
        x = self._embed(inputs, 0)
        for layer in self._decoder[:-1]:
            x = layer(x, layer.cross_attention.keys_values(memory))
        last = self._decoder[-1]
        keys, values = last.self_attention.keys_values(x)
        x = last.norm_self(x + last.self_attention(x, keys, values, causal=True))
        weights: Tensor = last.cross_attention.weights(
            x, last.cross_attention.keys_values(memory)[0]
        ).mean(dim=1)
        return weights

    @property
    def _decoder(self) -> list[DecoderLayer]:
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]

    def _embed(self, tokens: Tensor, first: int) -> Tensor:
        places = torch.arange(first, first + tokens.shape[1], device=tokens.device)
        code = sinusoidal(places, self.embedding.embedding_dim)
        result: Tensor = self.dropout(self.embedding(tokens) * self.scale + code)
        return result
