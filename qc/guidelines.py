"""Check a written text against the guidelines: the page's rules, and the catalogue's names.

Measured on texts that were written for other purposes, with the names of all 11,131 birds
(tests/real/test_qc_guidelines.py): in 3,966 NLVR2 sentences every alarm but fewer than 0.5 % of the
sentences is about a bird that they do name (penguins, parrots, pelicans), in 4,499 E2E texts the
only one is a restaurant called The Eagle. `Not English` is said of 0.0 % and 0.2 %.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pairs_to_words.project.guidelines import (
    ENGLISH_FROM,
    ENGLISH_SHARE,
    ENGLISH_WORDS,
    REQUIRED,
    RULES,
    Severity,
    normalise,
)
from pairs_to_words.project.splitter import words

VIOLATION: Severity = "violation"
NOTICE: Severity = "notice"

# Head nouns of bird names that are ordinary words for a body part, colour or shape: writers need
# them (`an emerald throat`), so alone they are no species name.
_ORDINARY = """
bird birds chicken hen head bill beak tail wing wings crest crown breast back throat eye eyes ear
ears neck rump belly vent face cap brow leg legs foot feet collar mask spot spots stripe band bar
black white red blue green yellow brown grey gray orange pink purple violet emerald sapphire ruby
topaz gold silver bronze copper amethyst brilliant azure scarlet rufous star sun sunbeam fairy angel
queen king prince monk nun friar winter water woods woodland mountain runner diver walker creeper
climber skimmer roller hermit jewel gem puff plume plumes feather feathers comet racket racquet
sword lancet sickle fan needle saw spine thorn thicket bush brush scrub leaf reed tree grass rock
sand river canary lark type form kind pet page inca ground miner guide knight snipe train boat shoe
stilt sheath sailor pilot mountaineer bishop widow cardinal babbler shell tit rail
spatula kiwi knee eater
"""
ORDINARY_NOUNS = frozenset(_ORDINARY.split())
# After one of these the noun describes (`a duck bill`), it does not name.
_AFTER = """
bill beak tail wing wings crest crown breast back throat eye eyes neck head leg legs feet foot body
shape shaped colour color colored coloured like ish egg blue size sized
"""
DESCRIBED = frozenset(_AFTER.split())
_COMPARED = re.compile(r"(?:like|resembles?|similar to|reminiscent of|of) (?:an? |the |of an? )?$")

_COMPARISON_REACH = 32  # characters before a noun in which a comparison may stand


@dataclass(frozen=True)
class Finding:
    """One remark about a text.

    Attributes:
        kind: `species_name`, `background`, `pose`, `missing_animal`, `too_short`, ...
        severity: `violation` or `notice`.
        found: The words that it is about.
        message: What to tell the writer.
    """

    kind: str
    severity: Severity
    found: str
    message: str


@dataclass(frozen=True)
class SpeciesNames:
    """The catalogue's names as lower-case word tuples.

    Attributes:
        full: Common names of two or more words, and scientific names.
        heads: Last words of common names that are no ordinary word.
        longest: Words in the longest full name.
    """

    full: frozenset[tuple[str, ...]] = frozenset()
    heads: frozenset[str] = frozenset()
    longest: int = field(default=1)


def species_names(common: Iterable[str], scientific: Iterable[str]) -> SpeciesNames:
    """Prepare the catalogue's vernacular and scientific names for `check_text`."""
    full: set[tuple[str, ...]] = set()
    heads: set[str] = set()
    for name in common:
        parts = tuple(words(name.lower()))
        if not parts:
            continue
        # `Bee-eater` and `Thick-knee` name a bird only as a whole.
        head = parts[-1]
        if head not in ORDINARY_NOUNS and not head.isdigit():
            heads.add(head)
        if len(parts) > 1:
            full.add(parts)
    for name in scientific:
        parts = tuple(words(name.lower()))
        if len(parts) > 1:
            full.add(parts)
            # The genus alone names the animal too, unless it is an English word here.
            if parts[0] not in ORDINARY_NOUNS:
                full.add(parts[:1])
    longest = max((len(name) for name in full), default=1)
    return SpeciesNames(frozenset(full), frozenset(heads), longest)


def check_text(
    text: str, *, names: SpeciesNames | None = None, min_words: int = 0, compares: bool = True
) -> list[Finding]:
    """Return what the guidelines say about a text, violations first.

    Args:
        text: As written.
        names: The catalogue's names; None leaves species names unchecked.
        min_words: Fewest words; 0 does not ask.
        compares: The text must mention both animals.
    """
    line = normalise(text)
    tokens = words(line)
    found = [
        Finding(rule.kind, rule.severity, match[0], rule.message)
        for rule in RULES
        for match in [re.search(rule.pattern, line, re.IGNORECASE)]
        if match
    ]
    if compares:
        present = set(tokens)
        found += [
            Finding(kind, VIOLATION, word, message)
            for word, kind, message in REQUIRED
            if word not in present
        ]
    if len(tokens) < min_words:
        found.append(
            Finding(
                "too_short",
                VIOLATION,
                f"{len(tokens)} words",
                f"Write at least {min_words} words.",
            )
        )
    if len(tokens) >= ENGLISH_FROM:
        share = sum(token in ENGLISH_WORDS for token in tokens) / len(tokens)
        if share < ENGLISH_SHARE:
            found.append(
                Finding("not_english", VIOLATION, " ".join(tokens[:6]), "Write in English.")
            )
    if names is not None:
        found += _species_findings(line, names)
    return sorted(dict.fromkeys(found), key=lambda finding: finding.severity == NOTICE)


def _species_findings(line: str, names: SpeciesNames) -> list[Finding]:
    matches = list(re.finditer(r"[^\W_]+(?:['’][^\W_]+)*(?:-[^\W_]+)*", line))
    tokens = [match[0] for match in matches]
    found: list[Finding] = []
    index = 0
    while index < len(tokens):
        length = _full_name(tokens, index, names)
        if length:
            said = " ".join(tokens[index : index + length])
            found.append(_named(said, VIOLATION))
            index += length
            continue
        severity = _head_noun(line, matches, index, names)
        if severity:
            found.append(_named(tokens[index], severity))
        index += 1
    return found


def _full_name(tokens: list[str], index: int, names: SpeciesNames) -> int:
    for length in range(min(names.longest, len(tokens) - index), 0, -1):
        window = tokens[index : index + length]
        singular = [*window[:-1], _singular(window[-1])]
        if tuple(window) in names.full or tuple(singular) in names.full:
            return length
    return 0


def _head_noun(
    line: str, matches: list[re.Match[str]], index: int, names: SpeciesNames
) -> Severity | None:
    if _is_head(matches[index][0], names):
        first, rest = matches[index][0], []
    else:
        first, *rest = matches[index][0].split("-")
    if rest:
        # `duck-like`, `robin-egg`: a comparison; `bronze-cuckoo`: a name by its last part.
        if _is_head(first, names):
            return NOTICE
        return VIOLATION if _is_head(rest[-1], names) else None
    if not _is_head(first, names):
        return None
    following = matches[index + 1][0].split("-")[0] if index + 1 < len(matches) else ""
    possessive = first.endswith(("'s", "’s"))
    start = matches[index].start()
    compared = _COMPARED.search(line[max(0, start - _COMPARISON_REACH) : start])
    return NOTICE if following in DESCRIBED or possessive or compared else VIOLATION


def _is_head(token: str, names: SpeciesNames) -> bool:
    bare = token.removesuffix("'s").removesuffix("’s")
    return bare in names.heads or _singular(bare) in names.heads


def _singular(token: str) -> str:
    for plural, singular in (("ches", "ch"), ("shes", "sh"), ("ies", "y"), ("s", "")):
        if token.endswith(plural) and len(token) > len(plural) + 2:
            return token[: -len(plural)] + singular
    return token


def _named(said: str, severity: Severity) -> Finding:
    return Finding(
        "species_name",
        severity,
        said,
        "Do not name the species: describe what anybody can see.",
    )
