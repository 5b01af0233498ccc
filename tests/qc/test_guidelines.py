"""Guideline checks find what a writer should change, and leave good comparisons alone."""

import json
import re

import pytest
from pairs_to_words.project.guidelines import RULES, SPELLINGS, normalise, rules_for_page
from pairs_to_words.qc.guidelines import SpeciesNames, check_text, species_names

NAMES = species_names(
    ["King Penguin", "Mallard", "European Robin", "Great Tit", "House Finch", "Shining Emerald"],
    ["Turdus migratorius"],
)
GOOD = "Animal 1 has a longer bill and a darker back, while Animal 2 has a white breast."


def kinds(text: str, severity: str, names: SpeciesNames | None = NAMES) -> set[str]:
    return {f.kind for f in check_text(text, names=names) if f.severity == severity}


def test_a_good_comparison_has_no_finding() -> None:
    assert check_text(GOOD, names=NAMES, min_words=8) == []


@pytest.mark.parametrize(
    "spelling",
    ["Animal 1", "animal1", "ANIMAL #1", "Animal no. 1", "animal one", "the first animal",
     "Bird 1", "animal-1", "1st animal", "Ani\u200bmal 1", "Ａnimal 1"],
)  # fmt: skip
def test_every_spelling_of_animal_1_is_one_word(spelling: str) -> None:
    assert "animal1" in normalise(f"{spelling} is bigger").split()


@pytest.mark.parametrize("text", ["Animal 12", "Animal 10", "animals", "anim al 1"])
def test_other_numbers_are_not_animal_1(text: str) -> None:
    assert "animal1" not in normalise(text).split()


@pytest.mark.parametrize(
    ("said", "severity"),
    [
        ("is a penguin", "violation"),
        ("is a King Penguin", "violation"),
        ("are mallards", "violation"),
        ("is Turdus migratorius", "violation"),
        ("is a turdus", "violation"),
        ("is one of the great tits", "violation"),
        ("has a duck-like, finch-like bill", "notice"),
        ("is robin-egg blue", "notice"),
        ("looks like a penguin", "notice"),
        ("has a finch beak", "notice"),
    ],
)
def test_species_names(said: str, severity: str) -> None:
    text = f"{GOOD} Animal 1 {said}."
    assert "species_name" in kinds(text, severity)
    other = "notice" if severity == "violation" else "violation"
    assert "species_name" not in kinds(text, other)


def test_ordinary_words_inside_names_are_free() -> None:
    assert kinds(f"{GOOD} It has an emerald tail and a great crown.", "violation") == set()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("The background is green.", "background"),
        ("It is facing left.", "pose"),
        ("Animal 1 is perched.", "pose"),
    ],
)
def test_what_the_photo_happens_to_show(said: str, kind: str) -> None:
    assert kind in kinds(f"{GOOD} {said}", "violation")


def test_both_animals_must_be_mentioned() -> None:
    findings = check_text("The first animal is much bigger and redder than the other one.")
    assert [(f.kind, f.found) for f in findings] == [("missing_animal", "animal2")]


def test_a_short_text_and_another_language_are_violations() -> None:
    assert "too_short" in {f.kind for f in check_text("animal 1 animal 2", min_words=8)}
    german = "Animal 1 ist gross und rot, aber Animal 2 hat einen kleinen Schnabel."
    assert "not_english" in kinds(german, "violation")


def test_profanity_is_only_a_notice() -> None:
    assert kinds(f"{GOOD} It has a comb like cocks have.", "violation") == set()


def test_the_page_gets_the_same_rules_as_plain_data() -> None:
    page = json.loads(json.dumps(rules_for_page(min_words=8)))
    assert [rule["pattern"] for rule in page["rules"]] == [rule.pattern for rule in RULES]
    assert page["spellings"] == [list(pair) for pair in SPELLINGS]
    assert page["min_words"] == 8


def test_patterns_use_only_what_javascript_has_too() -> None:
    for pattern in [rule.pattern for rule in RULES] + [pattern for pattern, _to in SPELLINGS]:
        assert not re.search(r"\(\?[^:=!]|\\[AZhv]|[*+?}]\+", pattern), pattern


def test_a_megabyte_of_text_is_checked_in_seconds() -> None:
    text = "animal 1 is a penguin " * 45_000 + "\u202e\x00\ud800"
    assert "species_name" in kinds(text, "violation")
