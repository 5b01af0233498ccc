"""The audit flags annotators who do not look, copy or name species, and leaves good ones alone."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.qc.annotators import Annotator, annotate_workers
from pairs_to_words.qc.guidelines import species_names

FLAGGED = {"review", "exclude"}
NAMES = species_names(["House Finch", "King Penguin"], ["Turdus migratorius"])
# How often an annotator of each kind is right about whether a photo is clear.
SKILL = {"good": 0.95, "hasty": 0.85, "random": 0.5, "copy": 0.93, "namer": 0.93}
CROWD = {"good": 12, "hasty": 1, "random": 2, "copy": 1, "namer": 1}
PARTS = ["bill", "tail", "crown", "breast", "back", "wings", "throat", "eye ring", "legs", "nape"]
LOOKS = ["long", "short", "bright red", "dark", "pale", "spotted", "plain", "streaked", "yellow",
         "blue", "thick", "thin", "rusty", "white", "black-edged"]  # fmt: skip


def crowd() -> list[str]:
    return [f"{kind}-{n}" for kind, size in CROWD.items() for n in range(size)]


def clarity(seed: int, items: int = 300, share_clear: float = 0.85) -> pd.DataFrame:
    """Five annotators per pair say of each of two photos whether it is clear."""
    rng = keyed_rng(seed, "clarity")
    rows = []
    for item in range(items):
        truth = rng.random(2) < share_clear
        for worker in rng.permutation(crowd())[:5]:
            skill = SKILL[worker.split("-")[0]]
            for field in (0, 1):
                right = rng.random() < skill
                value = "clear" if truth[field] == right else "unclear"
                rows.append((f"i{item}", f"clear_{field + 1}", worker, value))
    return table(rows)


def writing(seed: int, items: int = 150) -> pd.DataFrame:
    rng = keyed_rng(seed, "writing")
    rows = []
    template = paragraph(rng)
    for item in range(items):
        for worker in rng.permutation(crowd())[:5]:
            kind = worker.split("-")[0]
            text = template if kind == "copy" else paragraph(rng)
            if kind == "namer":
                text += " Animal 1 is a house finch."
            rows.append((f"i{item}", "paragraph", worker, text))
    return table(rows)


def paragraph(rng: np.random.Generator) -> str:
    parts = rng.permutation(PARTS)[:3]
    looks = rng.permutation(LOOKS)[:6]
    return (
        f"Animal 1 has a {looks[0]} {parts[0]} and its {parts[1]} is {looks[1]}. Animal 2 has a "
        f"{looks[2]} {parts[0]}, its {parts[2]} is {looks[3]} and the {parts[1]} {looks[4]}."
    )


def table(rows: list[tuple[str, str, str, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["item_id", "field", "worker_id", "value"])
    return frame.assign(
        position=range(len(rows)), phase="", assignment_id="", submitted_at="",
        work_seconds=10.0, source="crowd", simulated=True, telemetry=[{} for _ in rows],
    )  # fmt: skip


def audited(seed: int) -> dict[str, set[str]]:
    """Worker to the actions over both tasks."""
    actions: dict[str, set[str]] = {}
    for person in both_tasks(seed):
        actions.setdefault(person.worker_id, set()).add(person.action)
    return actions


def both_tasks(seed: int) -> Iterator[Annotator]:
    fields = ["clear_1", "clear_2"]
    yield from annotate_workers(clarity(seed), "clarity", label_fields=fields)
    yield from annotate_workers(
        writing(seed), "writing", text_fields=["paragraph"], names=NAMES, min_words=8
    )


@pytest.mark.parametrize("seed", range(5))
def test_every_planted_annotator_is_flagged_and_no_good_one(seed: int) -> None:
    actions = audited(seed)
    for worker, said in actions.items():
        kind = worker.split("-")[0]
        if kind in ("random", "copy", "namer"):
            assert said & FLAGGED, (worker, said)
        if kind == "good":
            assert not said & FLAGGED, (worker, said)


def test_nobody_is_flagged_when_nobody_is_planted() -> None:
    rows = clarity(7)
    good = rows[rows["worker_id"].str.startswith("good")]
    people = annotate_workers(good, "clarity", label_fields=["clear_1", "clear_2"])
    assert {person.action for person in people} == {"keep"}


def test_actions_do_not_depend_on_the_order_of_rows() -> None:
    rows = clarity(3)
    fields = ["clear_1", "clear_2"]
    first = annotate_workers(rows, "clarity", label_fields=fields)
    shuffled = rows.sample(frac=1, random_state=1)
    second = annotate_workers(shuffled, "clarity", label_fields=fields)
    assert [(p.worker_id, p.action, p.reasons) for p in first] == [
        (p.worker_id, p.action, p.reasons) for p in second
    ]


def test_an_annotator_with_one_answer_only_is_seen_though_most_photos_are_clear() -> None:
    rows = clarity(1, share_clear=0.9)
    lazy = rows["worker_id"] == "good-0"
    rows.loc[lazy, "value"] = "clear"
    people = annotate_workers(rows, "clarity", label_fields=["clear_1", "clear_2"])
    (person,) = [p for p in people if p.worker_id == "good-0"]
    assert person.action in FLAGGED
    assert any("one answer only" in reason for reason in person.reasons)
    assert person.entropy == 0


def test_too_few_judgments_say_so_and_recommend_nothing() -> None:
    rows = clarity(2, items=12)
    few = rows[rows["worker_id"].str.startswith("random")]
    people = annotate_workers(rows, "clarity", label_fields=["clear_1", "clear_2"])
    for person in people:
        if person.worker_id in set(few["worker_id"]):
            assert person.action == "keep"
            assert "too few to say" in person.reasons[0]


def test_gold_items_score_annotators() -> None:
    rows = clarity(4)
    truth = rows[rows["worker_id"].str.startswith("good")]
    gold = {
        (str(item), str(field)): str(values.mode()[0])
        for (item, field), values in truth.groupby(["item_id", "field"])["value"]
    }
    people = annotate_workers(rows, "clarity", label_fields=["clear_1", "clear_2"], gold=gold)
    by_kind: dict[str, list[float]] = {}
    for person in people:
        assert person.gold_agreement is not None
        by_kind.setdefault(person.worker_id.split("-")[0], []).append(person.gold_agreement)
    assert min(by_kind["good"]) > 0.9 > 0.7 > max(by_kind["random"])
