"""Copies are found whatever the spelling, and true likenesses are not called copies."""

import pandas as pd
from pairs_to_words.qc.copies import copied, near_duplicates

FIRST = "Animal 1 has a long red bill and Animal 2 has a short black bill with a white tip on it."
SWAPPED = "Animal 2 has a long red bill and Animal 1 has a short black bill with a white tip on it."
OTHER = "The crown of animal 1 is green; animal 2 is smaller, paler and has no crest at all."


def test_spelling_case_and_spaces_do_not_hide_a_copy() -> None:
    copy = FIRST.upper().replace("ANIMAL 1", "animal #1") + "  "
    assert near_duplicates([FIRST, OTHER, copy]) == [(0, 2)]


def test_a_text_with_the_animals_swapped_is_no_copy() -> None:
    assert near_duplicates([FIRST, SWAPPED]) == []


def test_one_changed_word_in_a_long_text_is_still_a_copy() -> None:
    text = " ".join(f"word{n}" for n in range(60))
    assert near_duplicates([text, text.replace("word59", "other")]) == [(0, 1)]
    assert near_duplicates([text, " ".join(f"other{n}" for n in range(60))]) == []


def table(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["item_id", "worker_id", "value"])


def test_only_the_later_text_about_another_item_is_marked() -> None:
    marks = copied(
        table([("i1", "a", FIRST), ("i2", "b", FIRST), ("i1", "c", FIRST), ("i3", "a", FIRST)])
    )
    assert marks["copies_own"].tolist() == [False, False, False, True]
    # c wrote about the same pair as a: only the likeness with b's text, about another, counts.
    assert marks["copies_other"].tolist() == [False, True, True, True]


def test_a_guideline_example_is_recognised() -> None:
    marks = copied(table([("i1", "a", OTHER), ("i2", "a", FIRST)]), examples=[FIRST])
    assert marks["copies_example"].tolist() == [False, True]


def test_short_and_empty_texts_are_handled() -> None:
    assert sorted(near_duplicates(["", "yes", "yes", ""])) == [(0, 3), (1, 2)]
