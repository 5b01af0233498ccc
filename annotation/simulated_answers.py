"""Simulated annotators of stated skill: what each of them answers about one item.

They stand in for people where no people are: in the demo, in tests of the audit, in load tests.
Their worker ids start with `records.SIMULATED_WORKER_PREFIX` and everything of theirs is marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pairs_to_words.annotation.simulated_texts import (
    COLOUR_WORDS,
    COPIED,
    Traits,
    describe,
    name_species,
)
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import Task
from pairs_to_words.project.records import SIMULATED_WORKER_PREFIX, Judgment
from pairs_to_words.project.seeds import keyed_rng

SKILLS = {
    "good": "labels right 98 times in 100; writes two to four true differences",
    "hasty": "labels right 93 times in 100; writes one true difference, fast",
    "random": "labels by chance; describes some other pair",
    "copy-paste": "calls everything clear; pastes one of two sentences everywhere",
    "species-namer": "labels like a good one; names the species, which is forbidden",
}

_LABEL_ACCURACY = {"good": 0.98, "hasty": 0.93, "species-namer": 0.98}
_PACE = {"good": 1.0, "hasty": 0.45, "random": 0.3, "copy-paste": 0.22, "species-namer": 0.8}
"""Time on an item as a share of the task's estimate."""


@dataclass(frozen=True)
class SimulatedWorker:
    """One simulated annotator: a label such as `good-3`, and its skill."""

    label: str
    skill: str


@dataclass(frozen=True)
class World:
    """What is really in the photos of the embedded domain.

    Attributes:
        traits: Photo id to the traits it shows.
        flaw: Photo id to its flaw, empty for a clear photo.
        name: Photo id to the species' common name.
    """

    traits: Mapping[int, Traits]
    flaw: Mapping[int, str]
    name: Mapping[int, str]


def load_world(layout: Layout) -> World:
    """Read the embedded domain's truth.

    Raises:
        UserError: The catalogue has no truth.parquet: its photos are real.
    """
    path = layout.catalog / "truth.parquet"
    if not path.exists():
        raise UserError(
            "Simulated annotators need the embedded domain: they know what was drawn.",
            "Make it with `collect catalog demo`; real photos need real people.",
        )
    truth = read_parquet(path).to_pylist()
    species = dict(
        zip(
            *read_parquet(layout.catalog / "taxa.parquet").select([0, 2]).to_pydict().values(),
            strict=True,
        )
    )
    photos = read_parquet(layout.catalog / "photos.parquet", ["photo_id", "species_id"])
    return World(
        traits={row["photo_id"]: {k: v for k, v in row.items() if "." in k} for row in truth},
        flaw={row["photo_id"]: row["flaw"] for row in truth},
        name={row["photo_id"]: species[row["species_id"]] for row in photos.to_pylist()},
    )


def parse_workers(text: str) -> list[SimulatedWorker]:
    """Read `good=12,random=2` as that many simulated workers of each skill.

    Raises:
        UserError: An unknown skill or a number that is none.
    """
    workers = []
    for part in text.split(","):
        skill, _, count = part.strip().partition("=")
        if skill not in SKILLS or not count.isdecimal():
            raise UserError(
                f"--workers {text!r}: {part.strip()!r} is not SKILL=COUNT.",
                f"Skills: {', '.join(SKILLS)}.",
            )
        workers += [SimulatedWorker(f"{skill}-{n}", skill) for n in range(1, int(count) + 1)]
    return workers


def answer_item(
    task: Task, item: Mapping[str, Any], worker: SimulatedWorker, world: World, seed: int
) -> dict[str, str]:
    """Return the form fields that `worker` fills in for one item, telemetry included.

    The same worker, item and seed give the same answer, in whatever order items come.

    Args:
        task: The protocol's task; its fields decide what is answered.
        item: What the page shows: `item_id`, `photo_1`, `photo_2`, and `text` where one is judged.
        worker: Who answers.
        world: What is really in the photos.
        seed: Seed of the simulation.
    """
    rng = keyed_rng(seed, "simulated", worker.label, task.page, str(item["item_id"]))
    answers: dict[str, str] = {}
    for field in task.fields:
        if field.kind == "text":
            answers[field.name] = _write(item, worker, world, rng)
        elif field.name.startswith("clear_"):
            answers[field.name] = _see(item[f"photo_{field.name[-1]}"], worker, world, rng)
        elif field.name.startswith("failed_"):
            side = field.name[-1]
            if answers[f"clear_{side}"] == "unclear":
                real = world.flaw[item[f"photo_{side}"]]
                answers[field.name] = real or str(rng.choice(field.labels))
        else:
            answers[field.name] = _judge(field.labels, item, worker, world, rng)
    return answers | _telemetry(task, answers, worker, rng)


def simulate_judgments(
    name: str,
    task: Task,
    items: Sequence[Mapping[str, Any]],
    workers: Sequence[SimulatedWorker],
    world: World,
    seed: int,
) -> list[Judgment]:
    """Return judgments without a server: each item gets the task's number of different workers."""
    judgments = []
    for item in items:
        item_id = str(item["item_id"])
        rng = keyed_rng(seed, "assign", name, item_id)
        chosen = rng.permutation(len(workers))[: task.redundancy]
        for index in sorted(int(i) for i in chosen):
            worker = workers[index]
            answers = answer_item(task, item, worker, world, seed)
            judgments += [
                Judgment(
                    task=name,
                    item_id=item_id,
                    field=field.name,
                    worker_id=simulated_id(worker),
                    value=answers[field.name],
                    assignment_id=f"{item_id}/{worker.label}",
                    work_seconds=float(answers["seconds"]),
                    simulated=True,
                    telemetry={
                        key: float(answers[key])
                        for key in ("seconds", "pastes", "pasted_chars", "keystrokes")
                    },
                )
                for field in task.fields
                if field.name in answers
            ]
    return judgments


def simulated_id(worker: SimulatedWorker) -> str:
    """Return a worker id for judgments that no server made."""
    return SIMULATED_WORKER_PREFIX + "".join(c for c in worker.label.upper() if c.isalnum())


def _see(photo: int, worker: SimulatedWorker, world: World, rng: np.random.Generator) -> str:
    truth, wrong = ("unclear", "clear") if world.flaw[photo] else ("clear", "unclear")
    if worker.skill == "copy-paste":
        return "clear"
    if worker.skill == "random":
        return str(rng.choice(["clear", "unclear"]))
    return truth if rng.random() < _LABEL_ACCURACY[worker.skill] else wrong


def _write(
    item: Mapping[str, Any], worker: SimulatedWorker, world: World, rng: np.random.Generator
) -> str:
    first, second = (world.traits[item[f"photo_{side}"]] for side in (1, 2))
    if worker.skill == "copy-paste":
        return str(rng.choice(COPIED))
    if worker.skill == "hasty":
        return describe(first, second, 1, rng)
    if worker.skill == "random":
        others = list(world.traits)
        first, second = (world.traits[others[int(i)]] for i in rng.integers(len(others), size=2))
        return describe(first, second, 2, rng)
    text = describe(first, second, int(rng.integers(3, 6)), rng)
    if worker.skill == "species-namer":
        names = (world.name[item["photo_1"]], world.name[item["photo_2"]])
        return f"{name_species(names, rng)} {text}"
    return text


def _judge(
    labels: Sequence[str],
    item: Mapping[str, Any],
    worker: SimulatedWorker,
    world: World,
    rng: np.random.Generator,
) -> str:
    """Say whether a text is true of two photos, by looking each of its claims up in the world."""
    if worker.skill == "copy-paste":
        return labels[0]
    if worker.skill == "random":
        return str(rng.choice(list(labels)))
    first, second = (world.traits[item[f"photo_{side}"]] for side in (1, 2))
    true = contradictions(str(item["text"]), first, second) == 0
    right, wrong = (labels[0], labels[1]) if true else (labels[1], labels[0])
    return right if rng.random() < _LABEL_ACCURACY[worker.skill] else wrong


def contradictions(text: str, first: Traits, second: Traits) -> int:
    """Count clauses such as `animal 1 has a brown crown` that the two animals contradict.

    Only clauses of the form in which simulated writers state a colour are read; others count as
    true, so this is a lower bound.
    """
    clauses = text.lower().replace(";", ",").replace(". ", ", ").split(",")
    wrong = 0
    for clause in clauses:
        named = [t for n, t in (("animal 1", first), ("animal 2", second)) if n in clause]
        if len(named) != 1 or " than " in clause:
            continue
        for trait, value in named[0].items():
            part, _, aspect = trait.partition(".")
            stated = _stated_colour(clause, part) if aspect == "colour" else None
            wrong += stated is not None and stated != value
    return wrong


def _stated_colour(clause: str, part: str) -> str | None:
    """Return the colour that a clause gives a part, longest name first."""
    called = [(name, colour) for colour, names in COLOUR_WORDS.items() for name in names]
    for name, colour in sorted(called, key=lambda pair: -len(pair[0])):
        for noun in (part, f"{part}s"):
            if f"{name} {noun}" in clause or f"{name} on the {noun}" in clause:
                return colour
    return None


def _telemetry(
    task: Task, answers: Mapping[str, str], worker: SimulatedWorker, rng: np.random.Generator
) -> dict[str, str]:
    """Return what the page would have measured: active seconds, pastes, keystrokes."""
    typed = sum(len(answers[f.name]) for f in task.fields if f.kind == "text" and f.name in answers)
    pasted = typed if worker.skill == "copy-paste" else 0
    expected = task.estimated_seconds / task.items_per_hit * _PACE[worker.skill]
    return {
        "seconds": f"{expected * float(rng.lognormal(0, 0.35)):.1f}",
        "pastes": str(int(pasted > 0)),
        "pasted_chars": str(pasted),
        "keystrokes": str(0 if pasted else int(typed * float(rng.uniform(1.02, 1.15)))),
    }
