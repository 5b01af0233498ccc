"""What simulated writers write: true differences between two drawn birds, in everyday sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

Traits = Mapping[str, str]
"""Trait name (`<part>.<aspect>`) to its value in plain English; see project.records.TRUTH."""

_ORDERED = {
    "body.size": ("tiny", "small", "medium", "large"),
    "bill.length": ("short", "medium", "long"),
    "tail.length": ("short", "medium", "long"),
    "leg.length": ("short", "medium", "long"),
    "neck.length": ("short", "medium", "long"),
}
_PARTS = {
    "crown": ("crown", "cap", "top of the head"),
    "back": ("back", "upper back"),
    "wing": ("wings", "wings"),
    "breast": ("breast", "chest"),
    "belly": ("belly", "underside"),
    "tail": ("tail", "tail feathers"),
    "bill": ("bill", "beak"),
    "leg": ("legs", "legs"),
    "neck": ("neck", "neck"),
}
COLOUR_WORDS: dict[str, tuple[str, ...]] = {
    "black": ("black",),
    "dark grey": ("dark grey", "dark gray", "slate grey"),
    "light grey": ("light grey", "light gray", "pale grey"),
    "white": ("white",),
    "brown": ("brown", "dark brown"),
    "rufous": ("reddish brown", "rusty", "rufous"),
    "buff": ("tan", "beige", "buff"),
    "yellow": ("yellow", "bright yellow"),
    "olive green": ("olive green", "greenish", "olive"),
    "blue": ("blue",),
    "red": ("red", "bright red"),
    "orange": ("orange",),
}
"""What people call each colour; the first is the most common."""

_SALIENCE = {
    "body.size": 3.0,
    "body.shape": 0.8,
    "crown.colour": 2.4,
    "back.colour": 2.0,
    "wing.colour": 2.2,
    "breast.colour": 2.6,
    "belly.colour": 2.0,
    "tail.colour": 1.6,
    "bill.colour": 1.4,
    "leg.colour": 1.2,
    "breast.pattern": 2.2,
    "wing.pattern": 1.6,
    "face.pattern": 1.6,
    "head.crest": 2.4,
    "bill.length": 1.8,
    "bill.shape": 1.4,
    "tail.length": 1.4,
    "tail.shape": 1.4,
    "leg.length": 1.4,
    "neck.length": 1.4,
}
_BETWEEN = ("while", "while", "whereas", "but")
_PLURAL = ("wings", "legs", "tail feathers")

COPIED = (
    "Animal 1 and animal 2 are both very nice animals and they look different from each other.",
    "The two animals are similar but animal 1 has different colors than animal 2 in some parts.",
)
"""What a copy-paste worker pastes everywhere: true of any pair, and so worth nothing."""


def describe(first: Traits, second: Traits, count: int, rng: np.random.Generator) -> str:
    """Return a paragraph of true comparisons of Animal 1 (`first`) and Animal 2 (`second`).

    Args:
        first: Traits of the left animal.
        second: Traits of the right animal.
        count: How many traits to mention.
        rng: The writer's own generator; wording and choice vary with it.
    """
    differing = [trait for trait in _SALIENCE if first[trait] != second[trait]]
    chosen = _choose(differing, count, rng)
    sentences = [_difference(trait, first, second, rng) for trait in chosen]
    if len(differing) < 4:
        shared = [trait for trait in _SALIENCE if first[trait] == second[trait]]
        sentences += [_likeness(trait, first, rng) for trait in _choose(shared, 2, rng)]
        opening = ("The two animals look almost the same.", "These animals look very similar.")
        sentences.insert(0, str(rng.choice(opening)))
    return _join(sentences, rng)


def name_species(names: tuple[str, str], rng: np.random.Generator) -> str:
    """Return what a writer says who names the species, which the guidelines forbid."""
    first, second = names
    forms = (
        f"Animal 1 is a {first} and animal 2 is a {second}.",
        f"Animal 1 looks like a {first}, while animal 2 is probably a {second}.",
        f"The {first} is animal 1, the {second} is animal 2.",
    )
    return str(rng.choice(forms))


def _choose(traits: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    weights = np.array([_SALIENCE[trait] for trait in traits])
    size = min(count, len(traits))
    if not size:
        return []
    picked = rng.choice(len(traits), size=size, replace=False, p=weights / weights.sum())
    return [traits[i] for i in sorted(picked)]


def _difference(trait: str, first: Traits, second: Traits, rng: np.random.Generator) -> str:
    if trait in _ORDERED and rng.random() < 0.75:
        return _comparative(trait, first, second, rng)
    here, there = ("Animal 1", "Animal 2") if rng.random() < 0.75 else ("Animal 2", "Animal 1")
    ours, theirs = (first, second) if here == "Animal 1" else (second, first)
    one, other = _having(trait, ours[trait], rng), _having(trait, theirs[trait], rng)
    return f"{here} {one}, {rng.choice(_BETWEEN)} {there} {other}"


def _comparative(trait: str, first: Traits, second: Traits, rng: np.random.Generator) -> str:
    scale = _ORDERED[trait]
    gap = scale.index(first[trait]) - scale.index(second[trait])
    more = gap > 0
    here, there = ("Animal 1", "Animal 2") if rng.random() < 0.8 else ("Animal 2", "Animal 1")
    if here == "Animal 2":
        more = not more
    degree = str(
        rng.choice(("", "", "slightly ") if abs(gap) == 1 else ("much ", "noticeably ", ""))
    )
    part = trait.split(".")[0]
    if trait == "body.size":
        word = str(rng.choice(("larger", "bigger") if more else ("smaller", "smaller")))
        return f"{here} is {degree}{word} than {there}"
    noun = str(rng.choice(_PARTS[part]))
    word = "longer" if more else "shorter"
    article = "" if noun in _PLURAL else "a "
    return f"{here} has {article}{degree}{word} {noun} than {there}"


def _having(trait: str, value: str, rng: np.random.Generator) -> str:
    """Say `has a brown crown` and the like for one animal."""
    part, aspect = trait.split(".")
    if trait == "head.crest":
        return "has a crest on its head" if value == "crest" else "has no crest"
    if trait == "face.pattern":
        plain = ("has a plain face", "has no markings on its face")
        named = {
            "eye stripe": ("has a dark stripe through its eye", "has a dark eye stripe"),
            "mask": ("has a dark mask around its eyes", "has a black mask"),
            "eye ring": ("has a pale ring around its eye", "has a white eye ring"),
        }
        return str(rng.choice(named.get(value, plain)))
    if trait == "wing.pattern":
        if value == "barred":
            return str(rng.choice(("has bars on its wings", "has two stripes on its wings")))
        return str(rng.choice(("has plain wings", "has no bars on its wings")))
    if trait == "breast.pattern" and value != "plain" and rng.random() < 0.4:
        marks = {"streaked": "streaks", "spotted": "spots", "barred": "dark bars"}[value]
        return f"has {marks} on its {rng.choice(_PARTS['breast'])}"
    if trait == "body.size":
        return f"is {value}" if value != "medium" else "is of medium size"
    if trait == "body.shape":
        return f"has a {value} body"
    if trait == "bill.shape" and value == "cone":
        return f"has a cone shaped {rng.choice(_PARTS['bill'])}"
    noun = str(rng.choice(_PARTS[part]))
    if aspect == "colour":
        called = COLOUR_WORDS[value]
        value = called[0] if rng.random() < 0.7 else str(rng.choice(called))
    if aspect == "colour" and rng.random() < 0.2:
        return (
            f"is {value} on the {noun}" if noun not in ("wings", "legs") else f"has {value} {noun}"
        )
    article = "" if noun in _PLURAL else ("an " if value[0] in "aeiou" else "a ")
    if noun == "top of the head":
        return f"has a head that is {value} on top"
    return f"has {article}{value} {noun}"


def _likeness(trait: str, traits: Traits, rng: np.random.Generator) -> str:
    having = _having(trait, traits[trait], rng)
    return "Both animals " + having.replace("has ", "have ", 1).replace("is ", "are ", 1).replace(
        "its", "their"
    )


def _join(sentences: list[str], rng: np.random.Generator) -> str:
    """Make sentences of the parts; now and then two in one, or a writer who does not capitalise."""
    texts: list[str] = []
    for sentence in sentences:
        text = sentence.rstrip(".")
        short = texts and len(texts[-1].split()) < 12 and "," not in texts[-1]
        if short and rng.random() < 0.35:
            texts[-1] = f"{texts[-1]}, and {text[0].lower()}{text[1:]}"
        else:
            texts.append(text)
    paragraph = " ".join(f"{text}." for text in texts)
    style = rng.random()
    if style < 0.3:
        paragraph = paragraph.replace("Animal ", "animal ")
        paragraph = ". ".join(part[:1].upper() + part[1:] for part in paragraph.split(". "))
    return paragraph
