"""The writing guidelines as data: one set of rules for the page, the simulation and the audit.

Patterns are regular expressions that Python's `re` and JavaScript (flags `iu`) read alike. Both
sides apply `SPELLINGS` first, so a rule never has to know that `Animal #1` and `the first animal`
are one thing. Species names need the catalogue and are checked in `qc.guidelines`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import asdict, dataclass
from typing import Any, Literal

import ftfy

Severity = Literal["violation", "notice"]

SPELLINGS: tuple[tuple[str, str], ...] = tuple(
    (pattern, f"animal{number}")
    for number, digit, ordinal in ((1, "1|one|i", "first|1st"), (2, "2|two|ii", "second|2nd"))
    for pattern in (
        rf"\b(?:animal|bird)[\s#_.-]*(?:(?:no|nr)\.?\s*|number\s+)?(?:{digit})\b",
        rf"\b(?:{ordinal})\s+(?:animal|bird)\b",
    )
)
"""Every spelling of the two animals; `Animal 12` is none of them."""

ANIMALS = ("animal1", "animal2")


@dataclass(frozen=True)
class Rule:
    """One thing that a text should not have.

    Attributes:
        kind: What it is about, such as `background`.
        severity: `violation` counts against the text; `notice` only informs.
        pattern: Matches the normalised text.
        message: What to tell the writer.
    """

    kind: str
    severity: Severity
    pattern: str
    message: str


RULES: tuple[Rule, ...] = (
    Rule(
        "background",
        "violation",
        r"\b(?:background|foreground|scenery|surroundings|backdrop)\b",
        "Describe the animals, not the background.",
    ),
    Rule(
        "scenery",
        "notice",
        r"\b(?:sky|grass|grassy|branch|branches|twig|rocks?|trees?|sand|snow|leaves|foliage"
        r"|shore|beach|pond|lake|river|ocean|fence|feeder|ground)\b",
        "This may be about the scenery: describe only the animals.",
    ),
    Rule(
        "pose",
        "violation",
        r"\b(?:animal[12]|it|which|bird|one) (?:is|was) (?:sitting|standing|perch(?:ed|ing)|flying"
        r"|swimming|walking|facing|looking|resting|hanging|eating|feeding|running|sleeping)\b"
        r"|\bfac(?:es|ing) (?:left|right|away|the camera|forwards?)\b"
        r"|\blook(?:s|ing) (?:left|right|away|up|down|at the camera)\b"
        r"|\bin flight\b|\bmid-?flight\b",
        "Describe how the animals look, not what they do in this photo.",
    ),
    Rule(
        "photo",
        "notice",
        r"\b(?:photos?|photographs?|pictures?|images?|camera|blurry|out of focus|close-?up)\b",
        "Describe the animals, not the photos.",
    ),
    Rule(
        "profanity",
        "notice",
        r"\b(?:fuck\w*|shit\w*|bitch\w*|asshole\w*|cunts?|dicks?|cocks?|tits)\b",
        "Some readers may take this word badly.",
    ),
)

REQUIRED = (
    ("animal1", "missing_animal", "Say something about Animal 1."),
    ("animal2", "missing_animal", "Say something about Animal 2."),
)
"""Word that must be there, kind of the violation when it is not, message."""

_ENGLISH = """
a an the and or but is are was has have had with without of on in at to from its it their than more
less while whereas both also not no very much as like which that this these other one only some all
there they he she his her be been by for two three each every exactly left right
"""
ENGLISH_WORDS = frozenset(_ENGLISH.split())
ENGLISH_SHARE = 0.1
"""Least share of these words in an English text of `ENGLISH_FROM` words or more.

Nearly every English text of NLVR2 and E2E is above (tests/real/test_qc_guidelines.py).
"""
ENGLISH_FROM = 8


def normalise(text: str) -> str:
    """Return the text as rules read it: repaired, lower case, single spaces, `animal1`.

    Broken encodings are repaired (ftfy), invisible format characters removed (zero-width spaces,
    right-to-left overrides), and every spelling of the two animals becomes `animal1`, `animal2`.
    """
    fixed = ftfy.fix_text(text, normalization="NFKC")
    visible = "".join(
        " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in fixed
        if unicodedata.category(c) not in ("Cf", "Cs")
    )
    line = " ".join(visible.lower().split())
    for pattern, replacement in SPELLINGS:
        line = _compiled(pattern).sub(replacement, line)
    return line


def rules_for_page(min_words: int = 0) -> dict[str, Any]:
    """Return everything a page needs to check a text as it is typed, JSON-able."""
    return {
        "spellings": [list(pair) for pair in SPELLINGS],
        "rules": [asdict(rule) for rule in RULES],
        "required": [
            {"word": word, "kind": kind, "message": message} for word, kind, message in REQUIRED
        ],
        "min_words": min_words,
        "english": {
            "words": sorted(ENGLISH_WORDS),
            "least_share": ENGLISH_SHARE,
            "from_words": ENGLISH_FROM,
        },
    }


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)  # `re` keeps compiled patterns by itself
