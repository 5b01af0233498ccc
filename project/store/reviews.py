"""Reviews: what the audit or a person decided about an annotator, a text or another subject."""

from __future__ import annotations

from dataclasses import dataclass

from pairs_to_words.project.store.tables import reviews
from sqlalchemy import Connection, select

ANNOTATOR = "annotator"
"""`subject_kind` of decisions about an annotator; `subject_id` is the worker id."""

AUDIT = "audit"
"""`reviewer` of decisions that the audit made; every other reviewer is a person."""

EXCLUDE = "exclude"
"""Decision: leave this annotator's work out of releases. It is never a rejection of pay."""


@dataclass(frozen=True)
class Review:
    """One decision about one subject.

    Attributes:
        subject_kind: `annotator`, `text` or another kind of subject.
        subject_id: The worker id, judgment id or item id.
        reviewer: `audit`, or a person's name.
        decision: For annotators keep, watch, review or exclude.
        note: The reasons in words.
        reviewed_at: ISO 8601 UTC.
    """

    subject_kind: str
    subject_id: str
    reviewer: str
    decision: str
    note: str
    reviewed_at: str


def add_reviews(connection: Connection, rows: list[Review]) -> None:
    """Append decisions; earlier ones stay as history."""
    if rows:
        connection.execute(reviews.insert(), [vars(row) for row in rows])


def current_reviews(
    connection: Connection, subject_kind: str, reviewer: str | None = None
) -> dict[str, Review]:
    """Return subject id -> the decision that holds: a person's latest, else the audit's latest.

    Args:
        reviewer: Only this reviewer's decisions, such as `audit`.
    """
    query = (
        select(*[column for column in reviews.c if column.name != "review_id"])
        .where(reviews.c.subject_kind == subject_kind)
        .order_by(reviews.c.review_id)
    )
    if reviewer is not None:
        query = query.where(reviews.c.reviewer == reviewer)
    holds: dict[str, Review] = {}
    for row in connection.execute(query).mappings():
        review = Review(**row)
        present = holds.get(review.subject_id)
        if present and present.reviewer != AUDIT and review.reviewer == AUDIT:
            continue
        holds[review.subject_id] = review
    return holds


def excluded_annotators(connection: Connection) -> dict[str, str]:
    """Return worker id -> the reasons, for annotators whose work releases leave out."""
    return {
        worker_id: review.note
        for worker_id, review in current_reviews(connection, ANNOTATOR).items()
        if review.decision == EXCLUDE
    }
