"""One row per annotator and task: what they did, how good it looks, what to do about it and why.

A recommended action is advice to a person. `exclude` leaves the annotator's work out of releases;
nothing here ever rejects an assignment or touches anybody's pay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pairs_to_words.project.splitter import words
from pairs_to_words.qc.copies import copied
from pairs_to_words.qc.guidelines import VIOLATION, SpeciesNames, check_text
from pairs_to_words.qc.peers import drift, entropy, peer_comparison, summarise, with_gold
from statsmodels.stats.proportion import proportion_confint

ACTIONS = ("keep", "watch", "review", "exclude")
"""Recommended actions, mildest first."""


@dataclass(frozen=True)
class Thresholds:
    """Every number that decides an action.

    Attributes:
        min_judgments: Items below which nothing is recommended.
        exclude_skill, review_skill: Shares of the annotators' median skill; an annotator whose
            skill is below that share even at the upper end of its 95 % interval is flagged.
        least_median_skill: Below this median skill peers are no yardstick and nobody is flagged.
        missed: Items where peers differ that an annotator with one label only may pass over.
        exclude_copies, review_copies: Share of copied texts, at the lower end of its interval.
        exclude_names, review_names: Share of texts that name a species, likewise.
        review_violations: Share of texts with any other violation, likewise.
        fast: Share of the task's median work time below which an annotator is fast.
        drift: Two-proportion statistic below which an annotator became worse.
    """

    min_judgments: int = 10
    exclude_skill: float = 0.5
    review_skill: float = 0.75
    least_median_skill: float = 0.1
    missed: int = 6
    exclude_copies: float = 0.3
    review_copies: float = 0.1
    exclude_names: float = 0.5
    review_names: float = 0.2
    review_violations: float = 0.5
    fast: float = 1 / 3
    drift: float = -3.0


@dataclass
class Annotator:
    """One annotator on one task.

    Attributes:
        worker_id, task, simulated: Who and where.
        judgments, items, active_days: How much.
        peer_agreement, peer_low, peer_high: Agreement with the majority of the others (Wilson).
        skill: Chance-corrected agreement with the others: 1 perfect, 0 chance.
        gold_agreement, gold_low, gold_high, gold_items: Agreement with known labels.
        median_seconds: Median work time per item.
        entropy: Of the labels, in bits.
        drift: Change of agreement from the first half of the work to the second.
        texts, median_words, vocabulary: Of written work.
        copies: Texts that repeat one about another item, or a guideline example.
        violations: Kind to number of texts with such a violation.
        pastes: Pastes that the page noticed.
        hourly_pay: Reward over work time in USD.
        action, reasons: The recommendation and why.
    """

    worker_id: str
    task: str
    simulated: bool
    judgments: int
    items: int
    active_days: int
    peer_agreement: float | None = None
    peer_low: float | None = None
    peer_high: float | None = None
    skill: float | None = None
    gold_agreement: float | None = None
    gold_low: float | None = None
    gold_high: float | None = None
    gold_items: int = 0
    median_seconds: float | None = None
    entropy: float | None = None
    drift: float | None = None
    texts: int = 0
    median_words: float | None = None
    vocabulary: int = 0
    copies: int = 0
    violations: dict[str, int] = field(default_factory=dict)
    pastes: int = 0
    hourly_pay: float | None = None
    action: str = "keep"
    reasons: list[str] = field(default_factory=list)

    def say(self, action: str, reason: str) -> None:
        """Add a reason; the sternest action stands."""
        self.reasons.append(reason)
        if ACTIONS.index(action) > ACTIONS.index(self.action):
            self.action = action


def annotate_workers(
    judgments: pd.DataFrame,
    task: str,
    *,
    label_fields: Sequence[str] = (),
    text_fields: Sequence[str] = (),
    gold: Mapping[tuple[str, str], str] | None = None,
    names: SpeciesNames | None = None,
    min_words: int = 0,
    reward: float | None = None,
    examples: Sequence[str] = (),
    thresholds: Thresholds | None = None,
) -> list[Annotator]:
    """Describe every annotator of one task and recommend an action for each.

    Args:
        judgments: The task's rows with the columns of `Judgment`, in order of arrival.
        task: Its name.
        label_fields, text_fields: Which fields hold a label, which a text.
        gold: (item, field) to known label.
        names: The catalogue's species names, for texts.
        min_words: Fewest words of a text.
        reward: Pay per assignment in USD, None when unknown.
        examples: Texts that the instructions show.
        thresholds: Every number that decides an action.
    """
    limits = thresholds or Thresholds()
    last = judgments.drop_duplicates(["item_id", "field", "worker_id"], keep="last")
    people = _people(judgments, task, reward)
    labels = last[last["field"].isin(label_fields)]
    if len(labels):
        _judge_labels(people, labels, gold or {}, limits)
    texts = last[last["field"].isin(text_fields)]
    if len(texts):
        _judge_texts(people, texts, names, min_words, examples, limits)
    _judge_time(people, limits)
    for person in people.values():
        if person.items < limits.min_judgments:
            person.action = "keep"
            person.reasons = [
                f"only {person.items} items: too few to say (fewer than {limits.min_judgments})"
            ]
    return [people[worker_id] for worker_id in sorted(people)]


def _people(judgments: pd.DataFrame, task: str, reward: float | None) -> dict[str, Annotator]:
    by_worker = judgments.groupby("worker_id", sort=True)
    table = pd.DataFrame(
        {
            "judgments": by_worker.size(),
            "items": by_worker["item_id"].nunique(),
            "simulated": by_worker["simulated"].any(),
        }
    )
    dated = judgments.assign(day=judgments["submitted_at"].str[:10])
    days = dated[dated["day"] != ""].groupby("worker_id")["day"].nunique()
    once = judgments.drop_duplicates(["worker_id", "assignment_id", "item_id"])
    once = once.assign(work_seconds=_active_seconds(once))
    seconds = once.groupby("worker_id")["work_seconds"]
    median, total = seconds.median(), seconds.sum()
    submissions = once[once["assignment_id"] != ""].groupby("worker_id")["assignment_id"].nunique()
    pastes = once["telemetry"].map(lambda t: int(t.get("pastes", 0) or 0) if t else 0)
    pasted = pastes.groupby(once["worker_id"]).sum()
    people = {}
    for worker_id, row in _rows(table):
        hours = float(total.get(worker_id, 0)) / 3600
        paid = float(submissions.get(worker_id, 0)) * reward if reward is not None else 0.0
        people[worker_id] = Annotator(
            worker_id=worker_id,
            task=task,
            simulated=bool(row["simulated"]),
            judgments=int(row["judgments"]),
            items=int(row["items"]),
            active_days=int(days.get(worker_id, 0)),
            median_seconds=_number(median.get(worker_id)),
            pastes=int(pasted.get(worker_id, 0)),
            hourly_pay=paid / hours if hours and paid else None,
        )
    return people


def _active_seconds(rows: pd.DataFrame) -> pd.Series[float]:
    """Return the page's own measure of active time where there is one, else the server's."""
    measured = rows["telemetry"].map(
        lambda t: float(t["seconds"]) if t and "seconds" in t else None
    )
    return pd.to_numeric(measured).fillna(pd.to_numeric(rows["work_seconds"]))


def _judge_labels(
    people: dict[str, Annotator],
    labels: pd.DataFrame,
    gold: Mapping[tuple[str, str], str],
    limits: Thresholds,
) -> None:
    compared = peer_comparison(labels)
    peers = summarise(compared)
    halves = dict(_rows(drift(compared)))
    bits = entropy(labels)
    for worker_id, row in _rows(peers):
        person = people[worker_id]
        person.peer_agreement = _number(row["agreement"])
        person.peer_low, person.peer_high = _number(row["low"]), _number(row["high"])
        person.skill = _number(row["skill"])
        person.entropy = _number(bits.get(worker_id))
        if half := halves.get(worker_id):
            person.drift = half["second"] - half["first"]
    known = peers[peers["n"] >= limits.min_judgments]
    usual = float(known["skill"].median()) if len(known) else float("nan")
    _flag_skill(people, known, usual, "agrees with the other annotators", limits)
    for worker_id, row in _rows(known):
        person = people[worker_id]
        if row["constant"] and row["missed"] >= limits.missed:
            person.say(
                "review",
                f"gave one answer only; the others' majority differed on {row['missed']:.0f} of "
                f"{row['n']:.0f}",
            )
        half = halves.get(worker_id)
        if half and half["z"] < limits.drift:
            person.say(
                "watch",
                f"became worse: agreement {half['first']:.0%} in the first half, "
                f"{half['second']:.0%} in the second",
            )
    if gold:
        scored = summarise(with_gold(labels, dict(gold)))
        for worker_id, row in _rows(scored):
            person = people[worker_id]
            person.gold_items = int(row["n"])
            person.gold_agreement = _number(row["agreement"])
            person.gold_low, person.gold_high = _number(row["low"]), _number(row["high"])
        enough = scored[scored["n"] >= limits.min_judgments]
        usual = float(enough["skill"].median()) if len(enough) else float("nan")
        _flag_skill(people, enough, usual, "agrees with the gold items", limits)


def _flag_skill(
    people: dict[str, Annotator],
    table: pd.DataFrame,
    usual: float,
    what: str,
    limits: Thresholds,
) -> None:
    if not usual > limits.least_median_skill:
        return
    for worker_id, row in _rows(table):
        best = row["skill_high"]
        for action, share in (("exclude", limits.exclude_skill), ("review", limits.review_skill)):
            if best < share * usual:
                people[worker_id].say(
                    action,
                    f"{what} on {row['agreement']:.0%} of {row['n']:.0f} (95 % interval "
                    f"{row['low']:.0%} to {row['high']:.0%}); chance gives {row['chance']:.0%}, "
                    f"skill {row['skill']:.2f} at most {best:.2f} where the median is {usual:.2f}",
                )
                break


def _judge_texts(
    people: dict[str, Annotator],
    texts: pd.DataFrame,
    names: SpeciesNames | None,
    min_words: int,
    examples: Sequence[str],
    limits: Thresholds,
) -> None:
    marks = copied(texts.sort_values("submitted_at", kind="stable"), examples=examples)
    copies = marks.any(axis=1).reindex(texts.index)
    for worker_id, positions in texts.groupby("worker_id").indices.items():
        person = people[str(worker_id)]
        mine = [str(text) for text in texts["value"].iloc[positions]]
        tokens = [words(text.lower()) for text in mine]
        person.texts = len(mine)
        person.median_words = float(np.median([len(t) for t in tokens]))
        person.vocabulary = len({token for t in tokens for token in t})
        person.copies = int(copies.iloc[positions].sum())
        for text in mine:
            found = check_text(text, names=names, min_words=min_words)
            for kind in sorted({f.kind for f in found if f.severity == VIOLATION}):
                person.violations[kind] = person.violations.get(kind, 0) + 1
        _flag_texts(person, limits)


def _flag_texts(person: Annotator, limits: Thresholds) -> None:
    n = person.texts
    for count, what, exclude, review in (
        (person.copies, "texts repeat another text", limits.exclude_copies, limits.review_copies),
        (
            person.violations.get("species_name", 0),
            "texts name the species",
            limits.exclude_names,
            limits.review_names,
        ),
    ):
        low, high = _wilson(count, n)
        said = f"{count} of {n} {what} (95 % interval {low:.0%} to {high:.0%})"
        if low > exclude:
            person.say("exclude", said)
        elif low > review:
            person.say("review", said)
    for kind, count in sorted(person.violations.items()):
        low, high = _wilson(count, n)
        if kind != "species_name" and low > limits.review_violations:
            person.say(
                "review",
                f"{count} of {n} texts break a guideline: {kind.replace('_', ' ')} "
                f"(95 % interval {low:.0%} to {high:.0%})",
            )


def _judge_time(people: dict[str, Annotator], limits: Thresholds) -> None:
    times = [p.median_seconds for p in people.values() if p.median_seconds is not None]
    if not times:
        return
    usual = float(np.median(times))
    for person in people.values():
        if person.median_seconds is not None and person.median_seconds < limits.fast * usual:
            person.say(
                "watch",
                f"works fast: {person.median_seconds:.1f} s per item, the median annotator "
                f"{usual:.1f} s",
            )


def _wilson(count: int, n: int) -> tuple[float, float]:
    low, high = proportion_confint(count, n, alpha=0.05, method="wilson")
    return float(low), float(high)


def _rows(table: pd.DataFrame) -> list[tuple[str, dict[Any, Any]]]:
    return [(str(name), row) for name, row in table.to_dict("index").items()]


def _number(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)
