"""The words of a model: training text to ids and back.

Text is lower-cased; every way to mention a photo's animal becomes one token, `animal1` or
`animal2` (the paper, section 4), and punctuation marks are tokens, so that outputs read as
sentences. `Vocabulary.text` writes the mentions back as `animal 1` and `animal 2`: that is what is
scored against the texts as people wrote them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.files import hash_value

PAD, START, END, UNKNOWN = 0, 1, 2, 3
SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")

MENTION_RULE = "animal 1|animal1|animal #1 -> animal1; written back as `animal 1`"
_MENTION = re.compile(r"\b(animal|bird)s?\s*#?\s*(1|2|one|two)\b", re.IGNORECASE)
_PIECE = re.compile(
    r"['’](?:s|re|ll|ve|d|m)\b|[^\W\d_]+(?:['’-][^\W\d_]+)*\d*|\d+(?:[.,]\d+)*|[^\w\s]|_"
)
_DIGITS = {"one": "1", "two": "2"}
_CLOSING = frozenset(".,;:!?)%")


def split_words(text: str) -> list[str]:
    """Return the model's tokens of a text: words, numbers, punctuation marks, mentions."""
    marked = _MENTION.sub(lambda m: f" {m[1]}{_DIGITS.get(m[2].lower(), m[2])} ", text)
    return [piece.replace("’", "'") for piece in _PIECE.findall(marked.lower())]


def join_words(words: Iterable[str]) -> str:
    """Write tokens as text: mentions as two words, no space before closing punctuation."""
    text = ""
    for word in words:
        if word in ("animal1", "animal2", "bird1", "bird2"):
            word = f"{word[:-1]} {word[-1]}"
        joined = word in _CLOSING or (word[0] == "'" and len(word) > 1) or text.endswith("(")
        text += word if not text or joined else f" {word}"
    return text


@dataclass(frozen=True)
class Vocabulary:
    """Words by id; ids 0 to 3 are padding, start, end and unknown."""

    words: tuple[str, ...]
    ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", {word: index for index, word in enumerate(self.words)})

    def __len__(self) -> int:
        return len(self.words)

    @property
    def key(self) -> str:
        """Hash of the words in order: a checkpoint carries it and refuses another."""
        return hash_value(list(self.words))

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """Return ids of the first `max_tokens` tokens, without start; with end unless cut."""
        ids = [self.ids.get(word, UNKNOWN) for word in split_words(text)[:max_tokens]]
        return ids if len(ids) == max_tokens else [*ids, END]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids up to the first end."""
        kept = list(ids)
        if END in kept:
            kept = kept[: kept.index(END)]
        return join_words(self.words[index] for index in kept if index not in (PAD, START))


def build_vocabulary(texts: Iterable[str], min_count: int) -> Vocabulary:
    """Return the words seen at least `min_count` times, most frequent first, ties by word.

    Raises:
        CouldNotError: No word is frequent enough.
    """
    counts = Counter(word for text in texts for word in split_words(text))
    words = sorted(
        (word for word, count in counts.items() if count >= min_count),
        key=lambda word: (-counts[word], word),
    )
    if not words:
        raise CouldNotError(
            f"No word occurs {min_count} times in the training texts.",
            "Lower data.min_count or build a release with more texts.",
        )
    return Vocabulary((*SPECIAL, *words))
