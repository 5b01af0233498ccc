"""One splitter for every sentence and word that is counted."""

import pytest
from pairs_to_words.project.splitter import sentences, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", 3),
        ("It is 1.5 times longer. Yes.", 2),
        ("It has spots, e.g. on the wing, and bars.", 1),
        ("Animal A. has spots", 1),
        ("It is longer by 5 mm. It is paler.", 2),
        ("It is 5 mm. longer, approx. as long as no. 2.", 1),
        ("No full stop", 1),
        ("One.\nTwo", 2),
        ("Wait... what?", 2),
        ('He said "no." Then he left.', 2),
        ("", 0),
        (" . ! ", 0),
    ],
)
def test_sentences(text: str, expected: int) -> None:
    assert len(sentences(text)) == expected


def test_words_keep_inner_hyphens_and_apostrophes() -> None:
    assert words("Animal 1's duck-like bill is 1.5 cm.") == [
        "Animal", "1's", "duck-like", "bill", "is", "1.5", "cm",
    ]  # fmt: skip
