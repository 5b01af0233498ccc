"""Count words, sentences, splits and labels of any kind of row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pairs_to_words.project.splitter import SPLITTER, sentences, words
from pairs_to_words.releases.schemas import RowKind

_MOST_BARS = 24
_BATCH = 50_000  # texts in memory as Python objects at a time


def tally(kind: RowKind, rows: pa.Table, splits: Sequence[str]) -> dict[str, Any]:
    """Return counts of texts, words and sentences, by split and label where there are labels."""
    n_words: list[int] = []
    n_sentences: list[int] = []
    vocabulary: set[str] = set()
    for batch in rows.select([kind.text]).to_batches(max_chunksize=_BATCH):
        for text in batch.column(0).to_pylist():
            tokens = words(text.lower())
            vocabulary.update(tokens)
            n_words.append(len(tokens))
            n_sentences.append(len(sentences(text)))
    total = len(rows) or 1
    found: dict[str, Any] = {
        "texts": len(rows),
        "distinct_texts": pc.count_distinct(rows[kind.text]).as_py(),
        "sentences": sum(n_sentences),
        "words": sum(n_words),
        "words_per_text": rounded(sum(n_words) / total),
        "sentences_per_text": rounded(sum(n_sentences) / total),
        "vocabulary": len(vocabulary),
        "splitter": SPLITTER,
        "texts_by_split": count(rows["split"].to_pylist(), splits),
        "words_histogram": histogram(n_words),
        "sentences_histogram": histogram(n_sentences),
    }
    units = rows.select([*kind.unit, "split"]).to_pandas().drop_duplicates()
    found["units_by_split"] = count(units["split"], splits)
    if kind.label:
        found["rows_by_label"] = count(rows[kind.label].to_pylist())
    return found


def histogram(lengths: Sequence[int]) -> dict[str, int]:
    """Return `0-4` -> count in bins of equal width 1, 5, 10, 50 ... so that 24 bins are enough."""
    if not lengths:
        return {}
    width = next(w for w in (1, 5, 10, 50, 100, 1_000, 10**9) if max(lengths) / w < _MOST_BARS)
    counted = Counter(length // width for length in lengths)
    return {
        (str(b) if width == 1 else f"{b * width}-{b * width + width - 1}"): counted.get(b, 0)
        for b in range(min(counted), max(counted) + 1)
    }


def count(values: Iterable[Any], order: Sequence[str] = ()) -> dict[str, int]:
    """Return value -> how often, in `order` and then by name."""
    counted = Counter(values)
    names = [name for name in order if name in counted]
    return {name: counted[name] for name in [*names, *sorted(set(counted) - set(names))]}


def rounded(value: float | None, digits: int = 3) -> float | None:
    """Round, None stays None."""
    return None if value is None or pd.isna(value) else round(float(value), digits)
