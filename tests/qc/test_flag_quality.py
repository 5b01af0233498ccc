"""The audit's flag separates annotators by skill: false flags are rare, bad ones rank low."""

import numpy as np
import pandas as pd
import pytest
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.qc.annotators import annotate_workers

JUDGMENTS = 20
LEVELS = np.linspace(0.5, 0.98, 20)
GOOD = 80


def crowd(seed: int, skill: float, share: float) -> tuple[pd.DataFrame, list[float]]:
    """80 annotators of one skill and one of each of 20 levels, 20 judgments each, 5 per item."""
    rng = keyed_rng(seed, "flags", str(skill), str(share))
    skills = [skill] * GOOD + list(LEVELS)
    slots = np.concatenate([rng.permutation(len(skills)) for _ in range(JUDGMENTS)])
    rows = []
    for item, workers in enumerate(slots.reshape(-1, 5)):
        truth = rng.random() < share
        for worker in workers:
            right = rng.random() < skills[worker]
            rows.append((f"i{item}", f"w{worker:03d}", "yes" if truth == right else "no"))
    frame = pd.DataFrame(rows, columns=["item_id", "worker_id", "value"])
    frame = frame.assign(
        field="label", position=0, phase="", assignment_id="", submitted_at="", work_seconds=None,
        source="", simulated=True, telemetry=[{} for _ in rows],
    )  # fmt: skip
    return frame, skills


@pytest.mark.parametrize(("skill", "share"), [(0.95, 0.5), (0.9, 0.5), (0.9, 0.85)])
def test_false_flags_are_under_two_percent_with_20_judgments_each(
    skill: float, share: float
) -> None:
    flagged = []
    for seed in range(4):
        frame, _skills = crowd(seed, skill, share)
        people = annotate_workers(frame, "t", label_fields=["label"])
        flagged += [p.action in ("review", "exclude") for p in people[:GOOD]]
    assert np.mean(flagged) < 0.02


def test_the_roc_of_the_flag_over_20_levels_of_skill() -> None:
    """Area under the curve: a coin-flipper is ranked below a good annotator."""
    bad: list[float] = []
    good: list[float] = []
    caught: list[bool] = []
    for seed in range(4):
        frame, skills = crowd(seed, 0.95, 0.5)
        for person, skill in zip(
            annotate_workers(frame, "t", label_fields=["label"]), skills, strict=True
        ):
            assert person.skill is not None
            if skill < 0.65:
                bad.append(person.skill)
                caught.append(person.action in ("review", "exclude"))
            elif skill >= 0.9:
                good.append(person.skill)
    higher = np.mean([[g > b for b in bad] for g in good])
    equal = np.mean([[g == b for b in bad] for g in good])
    assert higher + equal / 2 > 0.97
    assert np.mean(caught) > 0.6
