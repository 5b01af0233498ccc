"""BLEU-1..4, ROUGE-L and CIDEr-D of captions, equal to pycocoevalcap's values.

BLEU: Papineni et al. 2002, closest reference length, counts summed over the corpus. ROUGE-L: Lin
2004, F with beta 1.2 of the best precision and the best recall, which may come from different
references (pycocoevalcap's way). CIDEr-D: Vedantam et al. 2015, section 4; document frequencies
are counted over the items' references, so a corpus of one item scores 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pairs_to_words.project.errors import UserError
from pairs_to_words.training.tokens import tokenize_all

ORDERS = 4
BLEU_SMALL = 1e-9  # pycocoevalcap's additive constants: they decide the score of short texts
BLEU_TINY = 1e-15
ROUGE_BETA = 1.2
CIDER_SIGMA = 6.0

NGram = tuple[str, ...]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CaptionScores:
    """What each item contributes; corpus scores over all items or any sample of them.

    Attributes:
        matches: Clipped n-gram matches of each item, N x 4.
        ngrams: n-grams in each hypothesis, N x 4.
        lengths: Tokens in each hypothesis, N.
        reference_lengths: Tokens in the reference of the closest length, N.
        item_rouge_l: ROUGE-L of each item, N.
        item_cider_d: CIDEr-D of each item (0 to 10), N.
    """

    matches: Floats
    ngrams: Floats
    lengths: Floats
    reference_lengths: Floats
    item_rouge_l: Floats
    item_cider_d: Floats

    def __len__(self) -> int:
        return len(self.lengths)

    def bleu(self, items: Indices | slice = slice(None)) -> Floats:
        """Return BLEU-1 to BLEU-4 of the corpus made of `items` (indices may repeat)."""
        return bleu_of_counts(
            self.matches[items].sum(axis=0),
            self.ngrams[items].sum(axis=0),
            self.lengths[items].sum(),
            self.reference_lengths[items].sum(),
        )

    def summary(self, items: Indices | slice = slice(None)) -> dict[str, float]:
        """Return the corpus scores of `items` under their report names."""
        bleu = self.bleu(items)
        return {f"bleu_{n + 1}": float(bleu[n]) for n in range(ORDERS)} | {
            "rouge_l": float(self.item_rouge_l[items].mean()),
            "cider_d": float(self.item_cider_d[items].mean()),
        }

    def item_bleu(self) -> Floats:
        """Return BLEU-1 to BLEU-4 of each item as a corpus of its own, N x 4."""
        return bleu_of_counts(self.matches, self.ngrams, self.lengths, self.reference_lengths)


def score(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> CaptionScores:
    """Score raw texts: one hypothesis and at least one reference per item.

    Raises:
        UserError: Different counts, no items, or an item without references.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses for {len(references)} items.",
            "Give exactly one hypothesis per item.",
        )
    bare = next((i for i, texts in enumerate(references) if len(texts) == 0), None)
    if bare is not None:
        raise UserError(f"Item {bare} has no reference.", "Leave it out or give it one.")
    flat = tokenize_all([*hypotheses, *(text for texts in references for text in texts)])
    split = iter(flat[len(hypotheses) :])
    return score_tokens(
        flat[: len(hypotheses)], [[next(split) for _ in texts] for texts in references]
    )


def score_tokens(
    hypotheses: Sequence[list[str]], references: Sequence[Sequence[list[str]]]
) -> CaptionScores:
    """Score tokenised texts; see `score`."""
    if not hypotheses:
        raise UserError("There is nothing to score.", "Expected at least one item.")
    counted = [_count_ngrams(tokens) for tokens in hypotheses]
    counted_references = [[_count_ngrams(tokens) for tokens in texts] for texts in references]
    bleu_rows = [_bleu_counts(*pair) for pair in zip(counted, counted_references, strict=True)]
    matches, ngrams, lengths, reference_lengths = (
        np.array(column, dtype=np.float64) for column in zip(*bleu_rows, strict=True)
    )
    return CaptionScores(
        matches,
        ngrams,
        lengths,
        reference_lengths,
        np.array([_rouge_l(h, r) for h, r in zip(hypotheses, references, strict=True)]),
        _cider_d(counted, counted_references),
    )


def bleu_of_counts(
    matches: Floats, ngrams: Floats, lengths: Floats, reference_lengths: Floats
) -> Floats:
    """Return BLEU-1..4 (last axis) from counts; leading axes are independent corpora."""
    precisions = (matches + BLEU_TINY) / (ngrams + BLEU_SMALL)
    bleu = np.cumprod(precisions, axis=-1) ** (1.0 / np.arange(1, ORDERS + 1))
    ratio = (lengths + BLEU_TINY) / (reference_lengths + BLEU_SMALL)
    penalty = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1.0)
    result: Floats = bleu * penalty[..., None]
    return result


@dataclass(frozen=True)
class _Counted:
    length: int
    counts: Counter[NGram]


def _count_ngrams(tokens: Iterable[str]) -> _Counted:
    # A token can hold a no-break space (`1 1/2`): pycocoevalcap's n-grams split there.
    words = " ".join(tokens).split()
    counts: Counter[NGram] = Counter()
    for n in range(1, ORDERS + 1):
        counts.update(zip(*(words[k:] for k in range(n)), strict=False))
    return _Counted(len(words), counts)


def _bleu_counts(
    hypothesis: _Counted, references: Sequence[_Counted]
) -> tuple[list[int], list[int], int, int]:
    matches = [0] * ORDERS
    for ngram, count in hypothesis.counts.items():
        best = max(reference.counts[ngram] for reference in references)
        matches[len(ngram) - 1] += min(count, best)
    length = hypothesis.length
    closest = min((abs(r.length - length), r.length) for r in references)[1]
    return matches, [max(0, length - n) for n in range(ORDERS)], length, closest


def _rouge_l(hypothesis: list[str], references: Sequence[list[str]]) -> float:
    # An empty text counts as one empty token, as " ".split gives it.
    words = hypothesis or [""]
    precision = recall = 0.0
    for reference in references:
        shared = longest_common_subsequence(words, reference or [""])
        precision = max(precision, shared / len(words))
        recall = max(recall, shared / len(reference or [""]))
    if precision == 0 or recall == 0:
        return 0.0
    beta2 = ROUGE_BETA**2
    return ((1 + beta2) * precision * recall) / (recall + beta2 * precision)


def longest_common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """Return its length, bit-parallel (Hyyrö 2004): one big-integer step per token of `right`."""
    places: dict[str, int] = {}
    for index, token in enumerate(left):
        places[token] = places.get(token, 0) | 1 << index
    full = (1 << len(left)) - 1
    row = full
    for token in right:
        hit = row & places.get(token, 0)
        row = ((row + hit) | (row - hit)) & full
    return len(left) - row.bit_count()


def _cider_d(hypotheses: list[_Counted], references: list[list[_Counted]]) -> Floats:
    frequency: Counter[NGram] = Counter()
    for texts in references:
        frequency.update({ngram for text in texts for ngram in text.counts})
    log_items = math.log(len(references))
    idf = {ngram: log_items - math.log(count) for ngram, count in frequency.items()}
    scores = []
    for hypothesis, texts in zip(hypotheses, references, strict=True):
        vector, norms = _weigh(hypothesis, idf, log_items)
        total = 0.0
        for text in texts:
            other, other_norms = _weigh(text, idf, log_items)
            total += _similarity(vector, norms, other, other_norms, hypothesis, text)
        scores.append(10.0 * total / ORDERS / len(texts))
    return np.array(scores)


def _weigh(
    text: _Counted, idf: dict[NGram, float], unseen: float
) -> tuple[dict[NGram, float], list[float]]:
    vector = {ngram: count * idf.get(ngram, unseen) for ngram, count in text.counts.items()}
    squares = [0.0] * ORDERS
    for ngram, weight in vector.items():
        squares[len(ngram) - 1] += weight * weight
    return vector, [math.sqrt(square) for square in squares]


def _similarity(
    vector: dict[NGram, float],
    norms: list[float],
    other: dict[NGram, float],
    other_norms: list[float],
    hypothesis: _Counted,
    reference: _Counted,
) -> float:
    products = [0.0] * ORDERS
    for ngram, weight in vector.items():
        against = other.get(ngram)
        if against is not None:
            products[len(ngram) - 1] += min(weight, against) * against
    cosines = sum(
        product / (a * b) if a and b else product
        for product, a, b in zip(products, norms, other_norms, strict=True)
    )
    # The original counts bigrams for length, which is one less than tokens where there are any.
    delta = max(0, hypothesis.length - 1) - max(0, reference.length - 1)
    return cosines * math.exp(-(delta**2) / (2 * CIDER_SIGMA**2))
