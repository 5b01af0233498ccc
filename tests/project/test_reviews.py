"""A person's decision about an annotator outlasts the audit's."""

from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.reviews import (
    Review,
    add_reviews,
    current_reviews,
    excluded_annotators,
)
from sqlalchemy import Engine


def decided(worker: str, reviewer: str, decision: str, note: str = "") -> Review:
    return Review("annotator", worker, reviewer, decision, note, "2026-12-01T12:00:00.000Z")


def test_the_latest_audit_decision_holds(store: Engine) -> None:
    with transaction(store) as connection:
        add_reviews(connection, [decided("A1", "audit", "exclude", "copies")])
        assert excluded_annotators(connection) == {"A1": "copies"}
        add_reviews(connection, [decided("A1", "audit", "watch")])
        assert excluded_annotators(connection) == {}


def test_a_persons_decision_is_not_undone_by_a_later_audit(store: Engine) -> None:
    with transaction(store) as connection:
        add_reviews(
            connection,
            [
                decided("A1", "audit", "exclude"),
                decided("A1", "maria", "keep", "read 20 texts, all fine"),
                decided("A1", "audit", "exclude"),
                decided("A2", "audit", "keep"),
                decided("A2", "maria", "exclude", "wrote poems"),
            ],
        )
        assert excluded_annotators(connection) == {"A2": "wrote poems"}
        assert current_reviews(connection, "annotator", "audit")["A1"].decision == "exclude"
