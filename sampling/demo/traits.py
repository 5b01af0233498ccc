"""Traits that evolve along the taxonomy: what each species, and each single bird, looks like.

Shape traits are numbers that drift at every rank (Brownian motion on the tree); colours and
patterns are categories that are drawn again with some probability at every rank. So birds of a
species look alike, those of a genus similar, those of an order less. All draws are keyed by the
taxon's name: no species depends on which others are in the domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pairs_to_words.project.seeds import keyed_rng

RANKS = ("order", "family", "genus", "species")

COLOURS: dict[str, tuple[int, int, int]] = {
    "black": (34, 33, 36),
    "dark grey": (88, 92, 98),
    "light grey": (168, 174, 181),
    "white": (243, 242, 238),
    "brown": (112, 78, 52),
    "rufous": (168, 84, 42),
    "buff": (214, 184, 140),
    "yellow": (240, 204, 58),
    "olive green": (120, 134, 64),
    "blue": (62, 112, 184),
    "red": (192, 46, 44),
    "orange": (232, 132, 44),
}
BILL_COLOURS = ("black", "dark grey", "light grey", "yellow", "orange", "red", "buff")
LEG_COLOURS = ("black", "dark grey", "buff", "yellow", "orange", "red", "brown")

SHAPES: dict[str, tuple[str, ...]] = {
    "body.size": ("tiny", "small", "medium", "large"),
    "body.shape": ("slim", "plump"),
    "bill.length": ("short", "medium", "long"),
    "tail.length": ("short", "medium", "long"),
    "leg.length": ("short", "medium", "long"),
    "neck.length": ("short", "medium", "long"),
}
"""Numeric traits in [0, 1] and the words for equal parts of that range."""

PLUMAGE = ("crown", "back", "wing", "breast", "belly", "tail")

CATEGORIES: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "breast.pattern": (("plain", "streaked", "spotted", "barred"), (0.52, 0.20, 0.14, 0.14)),
    "wing.pattern": (("plain", "barred"), (0.6, 0.4)),
    "face.pattern": (("plain", "eye stripe", "mask", "eye ring"), (0.4, 0.22, 0.18, 0.2)),
    "head.crest": (("none", "crest"), (0.78, 0.22)),
    "bill.shape": (("straight", "hooked", "curved", "cone"), (0.34, 0.22, 0.2, 0.24)),
    "tail.shape": (("rounded", "forked"), (0.7, 0.3)),
}

DRIFT: dict[str, float] = {"order": 0.75, "family": 0.6, "genus": 0.38, "species": 0.24}
"""Standard deviation of a numeric trait's step at each rank, on the logit scale."""

REDRAW: dict[str, float] = {"order": 0.9, "family": 0.55, "genus": 0.4, "species": 0.22}
"""Probability that a category is drawn again at each rank."""

HABITATS = ("water", "shore", "forest", "grass", "branch", "sky")

# Mean shapes by kind of bird, on the logit scale: size, plumpness, bill, tail, legs, neck.
_KINDS: dict[str, tuple[tuple[float, float, float, float, float, float], str, str]] = {
    "songbird": ((-1.2, 0.2, -0.9, 0.2, -0.4, -1.6), "cone", "branch"),
    "raptor": ((1.2, 0.1, -0.5, 0.3, -0.5, -0.9), "hooked", "sky"),
    "owl": ((0.6, 1.8, -1.4, -0.6, -1.2, -2.2), "hooked", "forest"),
    "duck": ((0.6, 1.4, 0.0, -1.0, -1.6, 0.5), "straight", "water"),
    "wader": ((-0.2, 0.0, 1.2, -0.8, 1.1, 0.2), "straight", "shore"),
    "heron": ((1.5, -1.0, 1.2, -0.9, 1.8, 1.9), "straight", "shore"),
    "parrot": ((0.0, 0.5, -0.8, 1.0, -1.3, -1.2), "hooked", "forest"),
    "woodpecker": ((-0.3, -0.2, 0.6, 0.3, -1.0, -0.9), "straight", "forest"),
    "pigeon": ((0.2, 1.2, -1.0, 0.4, -1.1, -0.6), "straight", "grass"),
    "fowl": ((0.9, 1.9, -1.1, 0.6, -0.1, -0.2), "cone", "grass"),
    "seabird": ((0.7, -0.3, 0.5, -0.2, -1.0, -0.6), "hooked", "sky"),
    "hummer": ((-2.2, -0.2, 1.6, -0.1, -2.0, -1.5), "curved", "branch"),
    "runner": ((1.9, 1.0, -0.5, -1.0, 1.9, 2.0), "straight", "grass"),
}
_KIND_OF_ORDER = {
    "Passeriformes": "songbird",
    "Accipitriformes": "raptor",
    "Falconiformes": "raptor",
    "Cathartiformes": "raptor",
    "Strigiformes": "owl",
    "Caprimulgiformes": "owl",
    "Podargiformes": "owl",
    "Nyctibiiformes": "owl",
    "Aegotheliformes": "owl",
    "Anseriformes": "duck",
    "Podicipediformes": "duck",
    "Gaviiformes": "duck",
    "Gruiformes": "wader",
    "Charadriiformes": "wader",
    "Eurypygiformes": "wader",
    "Pelecaniformes": "heron",
    "Ciconiiformes": "heron",
    "Phoenicopteriformes": "heron",
    "Psittaciformes": "parrot",
    "Cuculiformes": "parrot",
    "Trogoniformes": "parrot",
    "Musophagiformes": "parrot",
    "Piciformes": "woodpecker",
    "Coraciiformes": "woodpecker",
    "Bucerotiformes": "woodpecker",
    "Galbuliformes": "woodpecker",
    "Columbiformes": "pigeon",
    "Pterocliformes": "pigeon",
    "Galliformes": "fowl",
    "Tinamiformes": "fowl",
    "Apodiformes": "hummer",
    "Procellariiformes": "seabird",
    "Suliformes": "seabird",
    "Phaethontiformes": "seabird",
    "Sphenisciformes": "duck",
    "Otidiformes": "runner",
    "Struthioniformes": "runner",
    "Rheiformes": "runner",
    "Casuariiformes": "runner",
    "Apterygiformes": "fowl",
}


@dataclass(frozen=True)
class Look:
    """How a species or one bird looks.

    Attributes:
        shape: Numeric trait (a key of SHAPES) to a value in [0, 1].
        colour: Part (`crown`, ..., `bill`, `leg`) to a colour word.
        category: Categorical trait (a key of CATEGORIES) to its value.
        habitat: Where it is mostly seen.
    """

    shape: dict[str, float]
    colour: dict[str, str]
    category: dict[str, str]
    habitat: str

    def words(self) -> dict[str, str]:
        """Return trait name -> plain English value: the truth that a photo shows."""
        shapes = {trait: _word(trait, value) for trait, value in self.shape.items()}
        colours = {f"{part}.colour": colour for part, colour in self.colour.items()}
        return shapes | colours | self.category


TRAIT_NAMES = (
    *SHAPES,
    *(f"{part}.colour" for part in (*PLUMAGE, "bill", "leg")),
    *CATEGORIES,
)


def species_look(taxon: Mapping[str, str], seed: int) -> Look:
    """Return the typical look of a species.

    Args:
        taxon: `order`, `family`, `genus` and `species` by name.
        seed: The domain's seed.
    """
    kind = _KIND_OF_ORDER.get(taxon["order"], "songbird")
    means, bill_shape, habitat = _KINDS[kind]
    logits = dict(zip(SHAPES, means, strict=True))
    colour: dict[str, str] = {}
    category: dict[str, str] = {}
    for rank in RANKS:
        rng = keyed_rng(seed, "traits", rank, taxon[rank])
        for trait in SHAPES:
            logits[trait] += DRIFT[rank] * float(rng.normal())
        # One mantle colour for back, wing and tail keeps birds believable; parts differ by chance.
        mantle = str(rng.choice(list(COLOURS), p=_MANTLE))
        under = str(rng.choice(list(COLOURS), p=_UNDER))
        for part in PLUMAGE:
            own = str(rng.choice(list(COLOURS)))
            plain = under if part in ("breast", "belly") else mantle
            drawn = own if rng.random() < 0.4 else plain
            if rank == "order" or rng.random() < REDRAW[rank]:
                colour[part] = drawn
        for part, palette in (("bill", BILL_COLOURS), ("leg", LEG_COLOURS)):
            drawn = str(rng.choice(list(palette)))
            if rank == "order" or rng.random() < REDRAW[rank]:
                colour[part] = drawn
        for trait, (values, weights) in CATEGORIES.items():
            drawn = str(rng.choice(list(values), p=weights))
            if rank == "order" or rng.random() < REDRAW[rank] * 0.7:
                category[trait] = drawn
        if rank == "order":
            category["bill.shape"] = bill_shape
        if rank == "family" and rng.random() < 0.3:
            habitat = str(rng.choice(list(HABITATS)))
    shape = {trait: float(1 / (1 + np.exp(-logit))) for trait, logit in logits.items()}
    return Look(shape, colour, category, habitat)


def individual_look(typical: Look, rng: np.random.Generator) -> Look:
    """Return one bird of a species: its numbers vary a little, its colours and patterns do not."""
    shape = {
        trait: float(np.clip(value + rng.normal(0, 0.02), 0.0, 1.0))
        for trait, value in typical.shape.items()
    }
    habitat = typical.habitat if rng.random() < 0.6 else str(rng.choice(list(HABITATS)))
    return Look(shape, typical.colour, typical.category, habitat)


def _word(trait: str, value: float) -> str:
    words = SHAPES[trait]
    return words[min(int(value * len(words)), len(words) - 1)]


def _weights(favourites: Mapping[str, float]) -> list[float]:
    raw = [favourites.get(colour, 0.4) for colour in COLOURS]
    return [weight / sum(raw) for weight in raw]


_MANTLE = _weights(
    {"brown": 2.2, "dark grey": 1.6, "black": 1.6, "olive green": 1.3, "rufous": 1.0, "blue": 0.8}
)
_UNDER = _weights({"white": 2.4, "buff": 1.7, "light grey": 1.3, "yellow": 1.0, "rufous": 0.8})
