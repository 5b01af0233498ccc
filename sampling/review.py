"""Pivot review: which of four photos of a species is the clearest, or none (paper, B.2).

Species are shown in the order of the pivot permutation. Each decision is stored when it is made, as
a row of the project's reviews; undoing one is another row, so nothing that was decided is lost.
Several reviewers work at once: a species is lent to one of them for a while.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import RLock

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.store.reviews import Review
from pairs_to_words.sampling.domain import Domain
from pairs_to_words.sampling.pivots import pivot_candidates

PIVOT = "pivot"
"""`subject_kind` of these decisions; `subject_id` is `<seed>:<species id>`."""

NONE_CLEAR, UNDONE = "none", "undone"
"""Decisions besides a photo id."""

LENT_FOR = timedelta(minutes=10)


@dataclass(frozen=True)
class Question:
    """One species with the photos to choose from.

    Attributes:
        species_id: The species.
        photo_ids: Up to four photos of different observations.
    """

    species_id: int
    photo_ids: tuple[int, ...]


def questions(domain: Domain, order: NDArray[np.int64], seed: int) -> list[Question]:
    """Return the questions about `order` (tree positions), in that order."""
    places = pivot_candidates(domain, order, seed)
    return [
        Question(
            int(species),
            tuple(int(domain.photo_id[domain.photo_start[o]]) for o in row if o >= 0),
        )
        for species, row in zip(domain.tree.species_id[order], places, strict=True)
    ]


def accepted_photos(
    asked: Sequence[Question], decisions: Mapping[str, Review], seed: int
) -> dict[int, int]:
    """Return species id -> chosen photo id, up to the first species nobody has decided yet.

    Later decisions wait for the ones before them: pivots are the first accepted species of the
    permutation, whoever was quicker.
    """
    accepted: dict[int, int] = {}
    for question in asked:
        decision = _decision(decisions, seed, question.species_id)
        if decision is None:
            break
        if decision != NONE_CLEAR:
            accepted[question.species_id] = int(decision)
    return accepted


def need_reviewed(accepted: Mapping[int, int], pivots: int) -> None:
    """Refuse to draw from too few reviewed pivots.

    Raises:
        CouldNotError: Fewer than `pivots` species are accepted so far.
    """
    if len(accepted) < pivots:
        raise CouldNotError(
            f"{len(accepted):,} of {pivots:,} pivots are reviewed so far.",
            f"Go on with `collect review --pivots {pivots}`.",
        )


def _decision(decisions: Mapping[str, Review], seed: int, species_id: int) -> str | None:
    review = decisions.get(f"{seed}:{species_id}")
    return None if review is None or review.decision == UNDONE else review.decision


class ReviewQueue:
    """Hands out questions and takes decisions; safe to use from several threads.

    Args:
        asked: Questions in the order of the permutation.
        wanted: Pivots to accept.
        seed: Seed of the sample.
        decisions: What was decided before.
        save: Stores one decision; called before the decision counts.
        clock: Time.
    """

    def __init__(
        self,
        asked: Sequence[Question],
        wanted: int,
        seed: int,
        decisions: Mapping[str, Review],
        save: Callable[[Review], None],
        clock: Clock,
    ):
        self._asked, self._wanted, self._seed = asked, wanted, seed
        self._decisions, self._save, self._clock = dict(decisions), save, clock
        self._by_species = {question.species_id: question for question in asked}
        self._lent: dict[int, tuple[str, datetime]] = {}
        self._history: dict[str, list[int]] = {}
        self._lock = RLock()

    def counts(self) -> dict[str, int]:
        """Return how many species are accepted and rejected, and how many are wanted."""
        found = [_decision(self._decisions, self._seed, q.species_id) for q in self._asked]
        rejected = sum(decision == NONE_CLEAR for decision in found)
        accepted = sum(decision is not None for decision in found) - rejected
        return {"accepted": accepted, "rejected": rejected, "wanted": self._wanted}

    def done(self) -> bool:
        """Tell whether as many species as wanted are accepted, with none before them open."""
        accepted = accepted_photos(self._asked, self._decisions, self._seed)
        return len(accepted) >= self._wanted

    def next_for(self, reviewer: str) -> Question | None:
        """Lend the reviewer the first open species; None when nothing is left for them."""
        with self._lock:
            if self.done():
                return None
            now = self._clock()
            busy = 0
            accepted = 0
            for question in self._asked:
                decision = _decision(self._decisions, self._seed, question.species_id)
                if decision is not None:
                    accepted += decision != NONE_CLEAR
                    continue
                holder, until = self._lent.get(question.species_id, ("", now))
                if holder not in ("", reviewer) and until > now:
                    busy += 1
                    continue
                if accepted + busy >= self._wanted:
                    return None
                self._lent[question.species_id] = (reviewer, now + LENT_FOR)
                return question
            return None

    def decide(self, reviewer: str, species_id: int, choice: int) -> None:
        """Store that `choice` (1 to 4; 0 for none) is the clearest photo of a species.

        Raises:
            UserError: No such species or choice, or somebody decided it in the meantime.
        """
        with self._lock:
            question = self._by_species.get(species_id)
            if question is None:
                raise UserError(f"Species {species_id} is not asked about.")
            if not 0 <= choice <= len(question.photo_ids):
                raise UserError(f"There is no photo {choice}: 0 to {len(question.photo_ids)}.")
            if _decision(self._decisions, self._seed, species_id) is not None:
                raise UserError("This species was decided in the meantime.")
            decision = str(question.photo_ids[choice - 1]) if choice else NONE_CLEAR
            self._store(reviewer, question, decision)
            self._lent.pop(species_id, None)
            self._history.setdefault(reviewer, []).append(species_id)

    def undo(self, reviewer: str) -> Question:
        """Take back the reviewer's last decision and lend them that species again.

        Raises:
            UserError: They have decided nothing that could be undone.
        """
        with self._lock:
            history = self._history.get(reviewer) or self._decided_by(reviewer)
            while history:
                species_id = history.pop()
                review = self._decisions.get(f"{self._seed}:{species_id}")
                if review and review.decision != UNDONE and review.reviewer == reviewer:
                    question = self._by_species[species_id]
                    self._store(reviewer, question, UNDONE)
                    self._lent[species_id] = (reviewer, self._clock() + LENT_FOR)
                    self._history[reviewer] = history
                    return question
            raise UserError("There is nothing to undo.")

    def _decided_by(self, reviewer: str) -> list[int]:
        """Return the reviewer's decisions from before a restart, oldest first."""
        mine = [
            (review.reviewed_at, question.species_id)
            for question in self._asked
            if (review := self._decisions.get(f"{self._seed}:{question.species_id}"))
            and review.reviewer == reviewer
            and review.decision != UNDONE
        ]
        return [species_id for _moment, species_id in sorted(mine)]

    def _store(self, reviewer: str, question: Question, decision: str) -> None:
        review = Review(
            subject_kind=PIVOT,
            subject_id=f"{self._seed}:{question.species_id}",
            reviewer=reviewer,
            decision=decision,
            # The candidates stay in the log: the choice biases pivots to clear photos (5.3 no. 19).
            note=json.dumps({"candidates": question.photo_ids}),
            reviewed_at=iso(self._clock()),
        )
        self._save(review)
        self._decisions[review.subject_id] = review
