"""On real photographs the packaged encoder puts related birds near each other."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from pairs_to_words.sampling import embed

PHOTOS = Path(__file__).resolve().parents[3] / "shared" / "data" / "photos"

pytestmark = pytest.mark.skipif(not PHOTOS.exists(), reason="the shared photographs are absent")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with (PHOTOS / "photos.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def family_share(features: np.ndarray, rows: list[dict[str, str]]) -> float:
    """Return how often the nearest photo of another species is of the same family.

    Only over photos for which the set holds another species of the family.
    """
    vectors = features.astype(np.float64)
    squares = np.square(vectors).sum(1)
    distance = squares[:, None] - 2 * vectors @ vectors.T + squares
    species = np.array([row["species"] for row in rows])
    family = np.array([row["family"] for row in rows])
    other = species[:, None] != species[None, :]
    distance[~other] = np.inf
    possible = ((family[:, None] == family[None, :]) & other).any(axis=1)
    return float((family[distance.argmin(axis=1)] == family)[possible].mean())


def test_the_nearest_photo_of_another_species_is_often_of_the_same_family(
    rows: list[dict[str, str]],
) -> None:
    files = [PHOTOS / row["file"] for row in rows]
    assert len(files) == 190
    encoder = embed.load_encoder()
    trained = family_share(embed.pooled_features(encoder, files), rows)
    # Negative control: the same network with random weights finds few.
    torch.manual_seed(0)
    untrained = timm.create_model(encoder.name, pretrained=False).eval()
    control = family_share(embed.pooled_features(replace(encoder, model=untrained), files), rows)
    assert trained > 0.35
    assert control < 0.15
