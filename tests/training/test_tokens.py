"""Tokens as the PTB tokenizer gives them (recorded from Stanford PTBTokenizer 3.4.1)."""

from __future__ import annotations

import pytest
from pairs_to_words.training.tokens import tokenize, tokenize_all


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Animal 1's bill isn't red.", "animal 1 's bill is n't red"),
        ("white. Animal2 has", "white animal2 has"),
        ("red-brown, black-and-white/gray", "red-brown black-and-white/gray"),
        ("in the city center., a place", "in the city center. a place"),
        ("(pale) [x] {y}", "-lrb- pale -rrb- -lsb- x -rsb- -lcb- y -rcb-"),
        ("No. 2 is fig. 3; no. It is", "no. 2 is fig. 3 no it is"),
        ("about 1 1/2 times, 2.5x, 10cm", "about 1\xa01/2 times 2.5 x 10cm"),
        ("U.S. birds vs. e.g. Mr. X", "u.s. birds vs. e.g. mr. x"),
        ("I'd've cannot gonna o'clock", "i 'd 've can not gon na o'clock"),
        ("“curly” ‘quotes’ doesn’t — …", "curly quotes does n't"),
        ("£5 €6 50% 5° ~5 A&B", "# 5 $ 6 50 % 5 ° ~ 5 a&b"),
        ("what?! ... ok", "what ?! ok"),
        ("", ""),
        (" .,;: ", ""),
    ],
)
def test_tokens_equal_the_recorded_ones(text: str, tokens: str) -> None:
    assert tokenize(text) == (tokens.split(" ") if tokens else [])


def test_texts_are_split_alone_whatever_stands_beside_them() -> None:
    texts = ["A no. 2 pencil", "a no. Two", "cannot", "1 1/2", "1", "1/2"]
    assert tokenize_all(texts) == [tokenize(text) for text in texts]
