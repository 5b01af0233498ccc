"""Simulated annotators do what their stated skill says, and the same again for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from pairs_to_words.annotation.simulated_answers import (
    SimulatedWorker,
    World,
    answer_item,
    contradictions,
    parse_workers,
    simulate_judgments,
)
from pairs_to_words.annotation.simulated_texts import COPIED
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.guidelines import normalise
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.records import SIMULATED_WORKER_PREFIX

TASKS = load_protocol("birds-to-words").tasks
PLAIN = {
    "body.size": "small",
    "body.shape": "slim",
    "bill.length": "short",
    "tail.length": "short",
    "leg.length": "short",
    "neck.length": "short",
    "breast.pattern": "plain",
    "wing.pattern": "plain",
    "face.pattern": "plain",
    "head.crest": "none",
    "bill.shape": "straight",
    "tail.shape": "rounded",
}
PARTS = ("crown", "back", "wing", "breast", "belly", "tail", "bill", "leg")


def bird(colour: str, **changes: str) -> dict[str, str]:
    traits = PLAIN | {f"{part}.colour": colour for part in PARTS}
    return traits | {name.replace("__", "."): value for name, value in changes.items()}


def world(pairs: int = 400) -> World:
    """Photos 2n and 2n + 1 make a pair; every tenth photo is blurred."""
    photos = range(2 * pairs)
    return World(
        traits={n: bird("red" if n % 2 else "blue", body__size="large") for n in photos},
        flaw={n: "blurred" if n % 10 == 0 else "" for n in photos},
        name={n: "Crested Auklet" if n % 2 else "Great Spotted Kiwi" for n in photos},
    )


def pair(number: int) -> dict[str, object]:
    return {"item_id": f"p{number}", "photo_1": 2 * number, "photo_2": 2 * number + 1}


def answers(task: str, skill: str, count: int = 400) -> list[dict[str, str]]:
    worker, there = SimulatedWorker(f"{skill}-1", skill), world()
    return [answer_item(TASKS[task], pair(n), worker, there, 0) for n in range(count)]


def clarity_accuracy(skill: str) -> float:
    there = world()
    right = [
        (given[f"clear_{side}"] == "clear") == (not there.flaw[2 * n + side - 1])
        for n, given in enumerate(answers("clarity", skill))
        for side in (1, 2)
    ]
    return float(np.mean(right))


@pytest.mark.parametrize(
    ("skill", "low", "high"),
    [
        ("good", 0.96, 1.0),
        ("hasty", 0.89, 0.96),
        ("random", 0.44, 0.56),
        ("copy-paste", 0.87, 0.93),
    ],
)
def test_labels_are_as_right_as_the_skill_says(skill: str, low: float, high: float) -> None:
    assert low <= clarity_accuracy(skill) <= high


def test_an_unclear_photo_gets_the_failed_criterion() -> None:
    unclear = [a for a in answers("clarity", "good") if a["clear_1"] == "unclear"]
    assert unclear
    assert all(a["failed_1"] in TASKS["clarity"].field("failed_1").labels for a in unclear)


def test_good_writers_state_true_differences_in_many_words() -> None:
    texts = [a["paragraph"] for a in answers("writing", "good")]
    assert len(set(texts)) > 0.95 * len(texts)
    assert all({"animal1", "animal2"} <= set(normalise(t).replace(",", " ").split()) for t in texts)
    assert sum(contradictions(t, bird("blue"), bird("red")) for t in texts) == 0
    assert 20 < np.mean([len(t.split()) for t in texts]) < 60


def test_a_swapped_text_contradicts_the_birds() -> None:
    texts = [a["paragraph"] for a in answers("writing", "good")]
    swapped = sum(contradictions(t, bird("red"), bird("blue")) > 0 for t in texts)
    assert swapped > 0.8 * len(texts)


def test_bad_writers_do_what_their_name_says() -> None:
    assert {a["paragraph"] for a in answers("writing", "copy-paste")} == set(COPIED)
    assert all(a["pasted_chars"] != "0" for a in answers("writing", "copy-paste"))
    assert all("Kiwi" in a["paragraph"] for a in answers("writing", "species-namer"))
    assert all("Kiwi" not in a["paragraph"] for a in answers("writing", "good"))


def test_validators_tell_true_texts_from_false_ones() -> None:
    there, worker = world(), SimulatedWorker("good-1", "good")
    true = "Animal 1 has a blue crown, while animal 2 has a red crown."
    false = "Animal 1 has a red crown, while animal 2 has a blue crown."
    for text, label in ((true, "true"), (false, "false")):
        given = [
            answer_item(TASKS["validation"], pair(n) | {"text": text}, worker, there, 0)["label"]
            for n in range(200)
        ]
        assert given.count(label) > 180


def test_identical_birds_are_called_alike() -> None:
    there = World({0: bird("red"), 1: bird("red")}, {0: "", 1: ""}, {0: "Kiwi", 1: "Kiwi"})
    item = {"item_id": "p", "photo_1": 0, "photo_2": 1}
    worker = SimulatedWorker("good-1", "good")
    assert "Both animals" in answer_item(TASKS["writing"], item, worker, there, 0)["paragraph"]


def test_judgments_are_marked_and_repeatable() -> None:
    crew = parse_workers("good=6,random=2")
    items = [pair(n) for n in range(30)]
    first = simulate_judgments("clarity", TASKS["clarity"], items, crew, world(), 3)
    assert first == simulate_judgments("clarity", TASKS["clarity"], items, crew, world(), 3)
    assert first != simulate_judgments("clarity", TASKS["clarity"], items, crew, world(), 4)
    assert all(j.simulated and j.worker_id.startswith(SIMULATED_WORKER_PREFIX) for j in first)
    clear = [j for j in first if j.field == "clear_1"]
    assert len(clear) == 30 * TASKS["clarity"].redundancy
    assert all(len({j.worker_id for j in clear if j.item_id == f"p{n}"}) == 5 for n in range(30))


@pytest.mark.parametrize("text", ["god=3", "good", "good=x", "good=-1", ""])
def test_an_unknown_skill_is_answered_with_the_skills_there_are(text: str) -> None:
    with pytest.raises(UserError, match="Skills: good, hasty, random, copy-paste, species-namer"):
        parse_workers(text)
