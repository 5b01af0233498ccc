"""Guideline checks raise few false alarms on real people's texts, with the names of all birds."""

import csv
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from pairs_to_words.qc.guidelines import SpeciesNames, check_text, species_names

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
if not DATA.exists():
    pytest.skip(f"no real data at {DATA}", allow_module_level=True)

# What NLVR2's sentences really say about birds; every other alarm would be false.
BIRDS = {
    "dove", "duck", "ducks", "eagle", "eagles", "goose", "geese", "gull", "gulls", "hen", "owl",
    "parakeet", "parrot", "parrots", "pelican", "pelicans", "penguin", "penguins", "pigeon",
    "swan", "toucan", "turkey", "vulture", "vultures", "peacock", "flamingo", "ostrich", "macaw",
    "macaws", "emperor penguin", "cockatoo", "crow",
}  # fmt: skip


@pytest.fixture(scope="module")
def names() -> SpeciesNames:
    path = files("birdnames") / "data" / "processed" / "avilist_2025_taxonomy.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    common = next(key for key in rows[0] if "english" in key.lower() or "common" in key.lower())
    scientific = next(key for key in rows[0] if "scientific" in key.lower())
    return species_names((r[common] for r in rows), (r[scientific] for r in rows))


def alarms(texts: list[str], names: SpeciesNames) -> tuple[dict[str, float], Counter[str]]:
    """Return violation kind -> share of texts, and what was taken for a species name."""
    kinds: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for text in texts:
        found = [f for f in check_text(text, names=names, compares=False) if f.severity != "notice"]
        kinds.update({f.kind for f in found})
        named.update(f.found for f in found if f.kind == "species_name")
    return {kind: count / len(texts) for kind, count in kinds.items()}, named


def test_nlvr2_sentences(names: SpeciesNames) -> None:
    sentences = {
        json.loads(line)["sentence"]
        for part in ("dev", "test1")
        for line in (DATA / "nlvr2" / f"{part}.json").read_text().splitlines()
    }
    assert len(sentences) == 3966
    rates, named = alarms(sorted(sentences), names)
    assert rates.get("not_english", 0) < 0.001
    # These sentences are about animals in photos: backgrounds and poses are really mentioned.
    assert rates["background"] < 0.015
    assert rates["pose"] < 0.03
    false = {said: count for said, count in named.items() if said not in BIRDS}
    assert sum(false.values()) / len(sentences) < 0.005, false
    assert sum(named.values()) - sum(false.values()) > 80


def test_e2e_restaurant_texts(names: SpeciesNames) -> None:
    with (DATA / "captions" / "e2e" / "e2e_devset.csv").open(newline="") as file:
        texts = sorted({row["ref"] for row in csv.DictReader(file)})
    rates, named = alarms(texts, names)
    assert rates.get("not_english", 0) < 0.005
    # One of the restaurants is called The Eagle.
    assert set(named) <= {"eagle", "eagles"}
    assert set(rates) <= {"not_english", "species_name"}
