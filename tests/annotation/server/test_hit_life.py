"""The life of a HIT and its money, through an ordinary boto3 client and the site's own forms."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text


def numbers(mturk: Any, hit_id: str) -> tuple[str, int, int, int]:
    hit = mturk.get_hit(HITId=hit_id)["HIT"]
    return (
        hit["HITStatus"],
        hit["NumberOfAssignmentsAvailable"],
        hit["NumberOfAssignmentsPending"],
        hit["NumberOfAssignmentsCompleted"],
    )


def test_the_documented_table_of_states(mturk: Any, new_hit: Any, new_worker: Any) -> None:
    hit = new_hit(MaxAssignments=5)["HITId"]
    workers = [new_worker(f"w{i}") for i in range(6)]
    assert numbers(mturk, hit) == ("Assignable", 5, 0, 0)
    taken = [worker.accept(hit) for worker in workers[:3]]
    assert numbers(mturk, hit) == ("Assignable", 2, 3, 0)
    taken += [worker.accept(hit) for worker in workers[3:5]]
    workers[0].submit(taken[0], words="a")
    workers[1].submit(taken[1], words="b")
    assert numbers(mturk, hit) == ("Unassignable", 0, 3, 0)
    workers[2].post(f"/work/{taken[2]}/return")
    assert numbers(mturk, hit) == ("Assignable", 1, 2, 0)
    workers[5].do(hit)
    workers[3].submit(taken[3], words="c")
    workers[4].submit(taken[4], words="d")
    assert numbers(mturk, hit) == ("Reviewable", 0, 0, 0)
    mturk.approve_assignment(AssignmentId=taken[0])
    mturk.reject_assignment(AssignmentId=taken[1], RequesterFeedback="no")
    assert numbers(mturk, hit) == ("Reviewable", 0, 0, 2)
    mturk.update_hit_review_status(HITId=hit)
    assert numbers(mturk, hit)[0] == "Reviewing"
    mturk.update_hit_review_status(HITId=hit, Revert=True)
    assert numbers(mturk, hit)[0] == "Reviewable"


def test_money_is_held_then_paid_with_fees_to_the_cent(
    server: Any, mturk: Any, new_hit: Any, new_worker: Any
) -> None:
    def balance() -> tuple[Decimal, Decimal]:
        found = mturk.get_account_balance()
        return Decimal(found["AvailableBalance"]), Decimal(found["OnHoldBalance"])

    start, _ = balance()
    hit = new_hit(MaxAssignments=2, Reward="0.03")["HITId"]  # fee: 20 % of 3 cents is 0.6 -> 1
    assert balance() == (start - Decimal("0.08"), Decimal("0.08"))
    ann, bob = new_worker("ann"), new_worker("bob")
    first, second = ann.do(hit), bob.do(hit)
    assert balance() == (start - Decimal("0.08"), Decimal("0.08"))
    mturk.approve_assignment(AssignmentId=first)
    assert balance() == (start - Decimal("0.08"), Decimal("0.04"))
    mturk.reject_assignment(AssignmentId=second, RequesterFeedback="wrong")
    assert balance() == (start - Decimal("0.04"), Decimal("0.00"))
    mturk.send_bonus(WorkerId=ann.worker_id, AssignmentId=first, BonusAmount="0.1", Reason="nice")
    assert balance() == (start - Decimal("0.16"), Decimal("0.00"))
    mturk.approve_assignment(AssignmentId=second, OverrideRejection=True)
    assert balance() == (start - Decimal("0.20"), Decimal("0.00"))
    with server.crowd.database.engine.connect() as connection:
        booked = connection.execute(text("SELECT SUM(amount_cents) FROM account_entries"))
        assert Decimal(booked.scalar_one()) / 100 == balance()[0]


def test_ten_assignments_cost_forty_percent_and_nine_never_grow_to_ten(
    mturk: Any, new_hit: Any, refused: Any
) -> None:
    new_hit(MaxAssignments=10, Reward="1.00")
    assert mturk.get_account_balance()["OnHoldBalance"] == "14.00"
    small = new_hit(MaxAssignments=8, Reward="1.00", Title="Other")["HITId"]
    assert mturk.get_account_balance()["OnHoldBalance"] == "23.60"
    mturk.create_additional_assignments_for_hit(HITId=small, NumberOfAdditionalAssignments=1)
    with refused("InvalidMaximumAssignmentsIncrease"):
        mturk.create_additional_assignments_for_hit(HITId=small, NumberOfAdditionalAssignments=1)


def test_what_cannot_be_paid_is_refused(
    mturk: Any, new_hit: Any, new_worker: Any, refused: Any
) -> None:
    with refused("InsufficientFunds"):
        new_hit(MaxAssignments=1_000_000_000)
    worker = new_worker()
    assignment = worker.do(new_hit()["HITId"])
    with refused("InsufficientFunds"):
        mturk.send_bonus(
            WorkerId=worker.worker_id, AssignmentId=assignment, BonusAmount="99999.99", Reason="r"
        )


def test_a_token_makes_one_hit_for_24_hours(
    mturk: Any, new_hit: Any, clock: Any, refused: Any
) -> None:
    hit = new_hit(UniqueRequestToken="t", LifetimeInSeconds=31_536_000)["HITId"]
    clock.forward(hours=23, minutes=59)
    with refused("HitAlreadyExists", f'The HIT with ID "{hit}" already exists.'):
        new_hit(UniqueRequestToken="t")
    clock.forward(minutes=2)
    assert new_hit(UniqueRequestToken="t")["HITId"] != hit


def test_a_bonus_token_pays_once(mturk: Any, new_hit: Any, new_worker: Any, refused: Any) -> None:
    worker = new_worker()
    assignment = worker.do(new_hit()["HITId"])
    bonus = {
        "WorkerId": worker.worker_id,
        "AssignmentId": assignment,
        "BonusAmount": "1.50",
        "Reason": "Good work",
        "UniqueRequestToken": "b",
    }
    mturk.send_bonus(**bonus)
    with refused("HitAlreadyExists"):
        mturk.send_bonus(**bonus)
    paid = mturk.list_bonus_payments(AssignmentId=assignment)["BonusPayments"]
    assert [(p["BonusAmount"], p["WorkerId"]) for p in paid] == [("1.50", worker.worker_id)]


def test_a_bonus_goes_only_to_the_worker_of_the_assignment(
    mturk: Any, new_hit: Any, new_worker: Any, refused: Any
) -> None:
    assignment = new_worker("ann").do(new_hit()["HITId"])
    other = new_worker("bob").worker_id
    with refused(
        "ParameterValidationError", f'The value "{other}" is not valid for the parameter WorkerId.'
    ):
        mturk.send_bonus(
            WorkerId=other, AssignmentId=assignment, BonusAmount="1.00", Reason="Good work"
        )


def test_work_nobody_reviews_is_approved_by_itself(
    mturk: Any, new_hit: Any, new_worker: Any, clock: Any
) -> None:
    hit = new_hit(AutoApprovalDelayInSeconds=3600)["HITId"]
    assignment = new_worker().do(hit)
    clock.forward(minutes=59)
    found = mturk.get_assignment(AssignmentId=assignment)["Assignment"]
    assert found["AssignmentStatus"] == "Submitted"
    clock.forward(minutes=2)
    found = mturk.get_assignment(AssignmentId=assignment)["Assignment"]
    assert found["AssignmentStatus"] == "Approved"
    assert mturk.get_account_balance() | {"ResponseMetadata": None} == {
        "AvailableBalance": "99999.52",
        "OnHoldBalance": "0.00",
        "ResponseMetadata": None,
    }


def test_an_expired_hit_lets_accepted_work_finish_and_frees_the_rest_of_its_money(
    mturk: Any, new_hit: Any, new_worker: Any, clock: Any
) -> None:
    hit = new_hit(MaxAssignments=3, LifetimeInSeconds=60, AssignmentDurationInSeconds=600)["HITId"]
    worker = new_worker("early")
    assignment = worker.accept(hit)
    clock.forward(seconds=61)
    assert numbers(mturk, hit) == ("Unassignable", 2, 1, 0)
    assert mturk.get_account_balance()["OnHoldBalance"] == "0.48"
    assert new_worker("late").post(f"/hits/{hit}/accept").status_code == 409
    worker.submit(assignment, words="in time")
    assert numbers(mturk, hit) == ("Reviewable", 2, 0, 0)


def test_a_passed_deadline_frees_the_hit_and_keeps_what_comes_late(
    server: Any, mturk: Any, new_hit: Any, new_worker: Any, clock: Any
) -> None:
    hit = new_hit(AssignmentDurationInSeconds=60)["HITId"]
    slow = new_worker("slow")
    assignment = slow.accept(hit)
    clock.forward(seconds=61)
    assert numbers(mturk, hit) == ("Assignable", 1, 0, 0)
    answer = slow.send(assignment, words="a long text")
    assert answer.status_code == 409
    assert "kept" in answer.json()["error"]
    with server.crowd.database.engine.connect() as connection:
        [late] = connection.execute(text("SELECT answer FROM late_submissions")).scalars()
    assert "a long text" in late
    assert mturk.list_assignments_for_hit(HITId=hit)["Assignments"] == []
    new_worker("other").do(hit)
    assert numbers(mturk, hit)[0] == "Reviewable"


def test_update_expiration_expires_and_revives(mturk: Any, new_hit: Any, new_worker: Any) -> None:
    hit = new_hit(MaxAssignments=2)["HITId"]
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=1_420_070_400)
    assert numbers(mturk, hit)[0] == "Reviewable"
    assert mturk.get_account_balance()["OnHoldBalance"] == "0.00"
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=4_000_000_000 // 2 - 180_000_000)
    assert numbers(mturk, hit)[0] == "Assignable"
    assert mturk.get_account_balance()["OnHoldBalance"] == "0.96"


def test_a_hit_is_deleted_only_when_all_its_work_is_reviewed(
    mturk: Any, new_hit: Any, new_worker: Any, refused: Any
) -> None:
    hit = new_hit(MaxAssignments=2)["HITId"]
    assignment = new_worker().accept(hit)
    with refused(
        "InvalidHITState",
        "This HIT is currently in the state 'Assignable'.  "
        "This operation can be called with a status of: Reviewing, Reviewable",
    ):
        mturk.delete_hit(HITId=hit)
    new_worker().submit(assignment, words="x")
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    with refused("InvalidHITState") as found:
        mturk.delete_hit(HITId=hit)
    assert "1 submitted assignments" in found["Error"]["Message"]
    mturk.approve_assignment(AssignmentId=assignment)
    mturk.delete_hit(HITId=hit)
    with refused("HITDoesNotExist", f"Hit {hit} does not exist."):
        mturk.get_hit(HITId=hit)
    assert mturk.list_hits()["HITs"] == []


def test_hits_are_disposed_after_120_days(mturk: Any, new_hit: Any, clock: Any) -> None:
    new_hit(LifetimeInSeconds=60)
    clock.forward(days=119)
    assert len(mturk.list_hits()["HITs"]) == 1
    clock.forward(days=2)
    assert mturk.list_hits()["HITs"] == []


def test_a_submit_is_taken_once_and_the_first_answer_stays(
    mturk: Any, new_hit: Any, new_worker: Any
) -> None:
    hit = new_hit()["HITId"]
    worker = new_worker()
    assignment = worker.accept(hit)
    first = worker.submit(assignment, words="first")
    second = worker.submit(assignment, words="second")
    assert (first["repeated"], second["repeated"]) == (False, True)
    assert first["submitted_at"] == second["submitted_at"]
    [found] = mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
    assert "<FreeText>first</FreeText>" in found["Answer"]


def test_wrong_states_are_refused_in_the_services_words(
    mturk: Any, new_hit: Any, new_worker: Any, refused: Any
) -> None:
    worker = new_worker()
    assignment = worker.accept(new_hit()["HITId"])
    words = "This operation can be called with a status of: "
    with refused("InvalidAssignmentState", f"{words}Reviewable,Approved,Rejected"):
        mturk.get_assignment(AssignmentId=assignment)
    with refused("InvalidAssignmentState", f"{words}Submitted"):
        mturk.approve_assignment(AssignmentId=assignment)
    worker.submit(assignment, words="x")
    mturk.approve_assignment(AssignmentId=assignment)
    with refused("InvalidAssignmentState", f"{words}Submitted"):
        mturk.reject_assignment(AssignmentId=assignment, RequesterFeedback="late")
    with refused("AssignmentDoesNotExist", "Assignment 3NONE does not exist."):
        mturk.approve_assignment(AssignmentId="3NONE")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Reward": "0.9752"}, "ValidationException"),
        ({"Reward": ".50"}, "ValidationException"),
        ({"Title": "x" * 129}, "ParameterValidationError"),
        ({"Description": "x" * 2001}, "ParameterValidationError"),
        ({"RequesterAnnotation": "x" * 256}, "ParameterValidationError"),
        ({"LifetimeInSeconds": 29}, "ParameterValidationError"),
        ({"AssignmentDurationInSeconds": 31_536_001}, "ParameterValidationError"),
        ({"AutoApprovalDelayInSeconds": 2_592_001}, "ParameterValidationError"),
        ({"MaxAssignments": 0}, "ParameterValidationError"),
        ({"UniqueRequestToken": "x" * 65}, "ValidationException"),
        ({"Question": "<HTMLQuestion/>"}, "ParameterValidationError"),
        ({"Question": "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}, "ParameterValidationError"),
        ({"Question": None}, "ParameterValidationError"),
    ],
)
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_hit_outside_the_limits_is_refused(
    new_hit: Any, refused: Any, change: dict[str, Any], code: str
) -> None:
    with refused(code):
        new_hit(**change)


@pytest.mark.parametrize("reward", ["5", "5.", "5.5", "0.05"])
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_amounts_that_the_services_pattern_takes_are_read_exactly(
    new_hit: Any, reward: str
) -> None:
    assert Decimal(new_hit(Reward=reward)["Reward"]) == Decimal(reward.rstrip("."))


def test_a_question_of_65535_bytes_is_taken_and_one_more_is_not(
    new_hit: Any, question: str, refused: Any
) -> None:
    filler = "x" * (65_535 - len(question.encode()))
    full = question.replace("</form>", f"{filler}</form>")
    assert len(full.encode()) == 65_535
    assert new_hit(Question=full)["Question"] == full
    with refused("ParameterValidationError"):
        new_hit(Question=full.replace("</form>", "y</form>"))


def test_the_same_properties_give_the_same_hit_type(mturk: Any, new_hit: Any) -> None:
    same = {
        "Title": "T",
        "Description": "D",
        "Reward": "0.10",
        "AssignmentDurationInSeconds": 60,
    }
    first = mturk.create_hit_type(**same)["HITTypeId"]
    assert mturk.create_hit_type(**same | {"Reward": "0.1"})["HITTypeId"] == first
    assert mturk.create_hit_type(**same | {"Reward": "0.11"})["HITTypeId"] != first


def test_every_page_that_is_not_empty_has_a_token_and_the_last_is_empty(
    mturk: Any, new_hit: Any, refused: Any
) -> None:
    wanted = {new_hit()["HITId"] for _ in range(7)}
    seen: list[str] = []
    page = mturk.list_hits(MaxResults=3)
    while page["HITs"]:
        seen += [hit["HITId"] for hit in page["HITs"]]
        page = mturk.list_hits(MaxResults=3, NextToken=page["NextToken"])
    assert "NextToken" not in page
    assert len(seen) == 7
    assert set(seen) == wanted
    paginated = mturk.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 2})
    assert {hit["HITId"] for answer in paginated for hit in answer["HITs"]} == wanted
    with refused("ParameterValidationError"):
        mturk.list_hits(NextToken="bm9uc2Vuc2U=")


def test_answers_come_back_exactly_as_they_were_typed(
    mturk: Any, new_hit: Any, new_worker: Any
) -> None:
    typed = "salt & pepper <b>“x”</b> ]]> ünï 🐦 \r\n\t'\" \u202e\u200b"
    hit = new_hit()["HITId"]
    new_worker().do(hit, words=typed, nul="a\x00b")
    [found] = mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
    from xml.etree import ElementTree

    values = [e.text for e in ElementTree.fromstring(found["Answer"]).iter() if "Free" in e.tag]
    assert values == [typed, "a\ufffdb"]


def test_counts_of_every_hit_equal_its_assignments(
    server: Any, mturk: Any, new_hit: Any, new_worker: Any
) -> None:
    hits = [new_hit(MaxAssignments=3)["HITId"] for _ in range(3)]
    workers = [new_worker(f"w{i}") for i in range(3)]
    for place, hit in enumerate(hits):
        for worker in workers[: place + 1]:
            assignment = worker.do(hit)
            if place == 2:
                mturk.approve_assignment(AssignmentId=assignment)
    returned = workers[2].accept(hits[0])
    workers[2].post(f"/work/{returned}/return")
    query = """SELECT h.hit_id FROM hits h WHERE
        h.pending <> (SELECT COUNT(*) FROM assignments a
                      WHERE a.hit_id = h.hit_id AND a.state = 'Accepted')
     OR h.submitted <> (SELECT COUNT(*) FROM assignments a
                        WHERE a.hit_id = h.hit_id AND a.state = 'Submitted')
     OR h.approved <> (SELECT COUNT(*) FROM assignments a
                       WHERE a.hit_id = h.hit_id AND a.state = 'Approved')"""
    with server.crowd.database.engine.connect() as connection:
        assert connection.execute(text(query)).all() == []
        held = connection.execute(text("SELECT SUM(hold_cents) FROM hits")).scalar_one()
        account = connection.execute(text("SELECT hold_cents FROM requesters")).scalar_one()
    assert held == account
