"""Captions scored by pycocoevalcap with Java: the same tokens and the same numbers."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairs_to_words.training.metrics import score
from pairs_to_words.training.tokens import tokenize

CAPTIONS = Path(__file__).resolve().parents[3] / "shared" / "data" / "captions"

pytestmark = pytest.mark.skipif(not CAPTIONS.exists(), reason="shared/data/captions is not here")


def fixture(name: str) -> Any:
    return json.loads((CAPTIONS / "fixture" / name).read_text(encoding="utf-8"))


def corpora() -> dict[str, Any]:
    own = fixture("metric_fixture.json")
    return {"edge cases": own} | fixture("metric_fixture_ab.json")["corpora"]


@pytest.fixture(scope="module")
def e2e() -> list[list[str]]:
    items: dict[str, list[str]] = {}
    with (CAPTIONS / "e2e" / "e2e_devset.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            items.setdefault(row["mr"], []).append(row["ref"])
    assert (len(items), sum(map(len, items.values()))) == (547, 4672)
    return list(items.values())


def test_tokens_of_tricky_strings_equal_the_ptb_tokenizer() -> None:
    wrong = {
        case["text"]: tokenize(case["text"])
        for case in fixture("metric_fixture.json")["tokenisation"]
        if " ".join(tokenize(case["text"])) != case["tokens"]
    }
    assert wrong == {}


@pytest.mark.parametrize("name", ["edge cases", "A", "B"])
def test_tokens_of_whole_texts_equal_the_ptb_tokenizer(name: str) -> None:
    for item in corpora()[name]["items"]:
        assert " ".join(tokenize(item["hypothesis"])) == item["hypothesis_tokens"]
        assert [" ".join(tokenize(r)) for r in item["references"]] == item["reference_tokens"]


@pytest.mark.parametrize("name", ["edge cases", "A", "B"])
def test_corpus_scores_equal_pycocoevalcap(name: str) -> None:
    corpus = corpora()[name]
    scores = score(
        [item["hypothesis"] for item in corpus["items"]],
        [item["references"] for item in corpus["items"]],
    )
    expected = dict(corpus["expected"])
    expected.pop("per_item", None)
    if "bleu" in expected:
        expected |= {f"bleu_{n}": value for n, value in enumerate(expected.pop("bleu"), start=1)}
    assert scores.summary() == pytest.approx(expected, abs=1e-9)


def test_item_scores_equal_pycocoevalcap() -> None:
    corpus = fixture("metric_fixture.json")
    scores = score(
        [item["hypothesis"] for item in corpus["items"]],
        [item["references"] for item in corpus["items"]],
    )
    expected = corpus["expected"]["per_item"]
    np.testing.assert_allclose(scores.item_bleu(), expected["bleu"], atol=1e-9)
    np.testing.assert_allclose(scores.item_rouge_l, expected["rouge_l"], atol=1e-9)
    np.testing.assert_allclose(scores.item_cider_d, expected["cider_d"], atol=1e-9)


@pytest.mark.parametrize(
    ("held_out", "bleu_4", "rouge_l", "cider_d"),
    [(0, 0.5949292691, 0.6528351319, 1.8542754608), (-1, 0.5965495131, 0.6446467523, 1.8690716982)],
)
def test_e2e_with_one_reference_held_out(
    e2e: list[list[str]], held_out: int, bleu_4: float, rouge_l: float, cider_d: float
) -> None:
    rest = [refs[1:] if held_out == 0 else refs[:-1] for refs in e2e]
    found = score([refs[held_out] for refs in e2e], rest).summary()
    assert (found["bleu_4"], found["rouge_l"], found["cider_d"]) == pytest.approx(
        (bleu_4, rouge_l, cider_d), abs=1e-9
    )


def test_e2e_with_the_most_frequent_reference_everywhere(e2e: list[list[str]]) -> None:
    counts = Counter(ref for refs in e2e for ref in refs)
    most = min(counts, key=lambda text: (-counts[text], text))
    found = score([most] * len(e2e), e2e).summary()
    assert (found["bleu_4"], found["rouge_l"], found["cider_d"]) == pytest.approx(
        (0.2832862996, 0.4690692751, 0.3097408753), abs=1e-9
    )


def test_e2e_system_output_against_blank_line_separated_references() -> None:
    blocks = (CAPTIONS / "e2e" / "devel-conc.txt").read_text(encoding="utf-8").strip()
    references = [block.splitlines() for block in blocks.split("\n\n")]
    output = (CAPTIONS / "e2e" / "baseline-output.txt").read_text(encoding="utf-8").splitlines()
    assert len(references) == 10
    found = score(output[:10], references).summary()
    assert (found["bleu_4"], found["rouge_l"], found["cider_d"]) == pytest.approx(
        (0.6958927723, 0.7909526132, 2.3039431353), abs=1e-9
    )


def test_one_birds_to_words_item_with_each_text_held_out() -> None:
    path = CAPTIONS.parent / "b2w" / "readme_sample.json"
    texts = next(iter(find_lists(json.loads(path.read_text(encoding="utf-8")))))
    found = [
        score([text], [[t for k, t in enumerate(texts) if k != held]]).summary()
        for held, text in enumerate(texts)
    ]
    assert [f["bleu_4"] for f in found] == pytest.approx(
        [1.6396e-05, 0.177690, 0.247500, 0.142252], abs=1e-6
    )
    assert [f["rouge_l"] for f in found] == pytest.approx(
        [0.325412, 0.443713, 0.451548, 0.357143], abs=1e-6
    )
    assert [f["cider_d"] for f in found] == [0, 0, 0, 0]  # every idf of one item is log 1


def find_lists(value: Any) -> Any:
    """The lists of at least four texts inside a JSON value."""
    if isinstance(value, list) and len(value) >= 4 and all(isinstance(v, str) for v in value):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from find_lists(part)
