"""Models by name."""

from __future__ import annotations

from pairs_to_words.training.config import ModelSection
from pairs_to_words.training.models.caption import CaptionModel
from pairs_to_words.training.models.neural_naturalist import NeuralNaturalist


def build_model(config: ModelSection, vocabulary_size: int, grid: tuple[int, int]) -> CaptionModel:
    """Return the configured model for a vocabulary and grids of (cells, features)."""
    cells, features = grid
    return NeuralNaturalist(config, vocabulary_size=vocabulary_size, features=features, cells=cells)
