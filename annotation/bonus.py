"""Pay bonuses through the ledger: each entry is written before its call, and none is paid twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from pairs_to_words.annotation.money import bonus_fee
from pairs_to_words.annotation.mturk import Crowd, CrowdError
from pairs_to_words.project.clock import Clock, iso
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_value
from pairs_to_words.project.store import ledger
from pairs_to_words.project.store.batches import submissions
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.events import log_event
from sqlalchemy import Engine


@dataclass(frozen=True)
class Payment:
    """One bonus: for whom, referring to which submission, how much, why, in which round."""

    worker_id: str
    assignment_id: str
    amount: Decimal
    reason: str
    round: str

    @property
    def entry_id(self) -> str:
        """The ledger entry: one bonus per worker and round, whatever is called again."""
        return f"bonus:{self.round}:{self.worker_id}"[:64]

    @property
    def fee(self) -> Decimal:
        """The crowd's fee in USD."""
        return Decimal(bonus_fee(int(self.amount * 100))) / 100


def unpaid(engine: Engine, payments: Sequence[Payment]) -> list[Payment]:
    """Return the payments that are not confirmed yet."""
    with engine.connect() as connection:
        done = {e["entry_id"] for e in ledger.entries(connection, ledger.BONUS, ["confirmed"])}
    return [payment for payment in payments if payment.entry_id not in done]


def pay_bonuses(
    engine: Engine,
    crowd: Crowd,
    task: str,
    payments: Sequence[Payment],
    cap: Decimal,
    clock: Clock,
) -> int:
    """Send bonuses that were not sent before; return how many were confirmed now.

    An entry that an interrupted run left as sent is first looked up at the crowd (its request
    token is forgotten there after a day), and paid only when the crowd has not paid it.

    Raises:
        UserError: A submission that is not the worker's or not known, or the cap would be broken.
    """
    waiting = unpaid(engine, payments)
    with transaction(engine) as connection:
        known = {
            row["assignment_id"]: row
            for row in submissions(connection, task, ("Submitted", "Approved", "Rejected"))
        }
        for payment in waiting:
            row = known.get(payment.assignment_id)
            if row is None or row["worker_id"] != payment.worker_id:
                raise UserError(
                    f"Submission {payment.assignment_id} is not one of worker {payment.worker_id}.",
                    "Fetch the newest with `collect pull`.",
                )
        present = ledger.entries(
            connection, ledger.BONUS, [ledger.INTENDED, ledger.SENT, ledger.FAILED]
        )
        states = {entry["entry_id"]: entry["state"] for entry in present}
        new = [p for p in waiting if p.entry_id not in states]
        cost = sum((p.amount + p.fee for p in new), Decimal("0.00"))
        if ledger.committed(connection) + cost > cap:
            raise UserError(
                f"These bonuses cost {cost} USD, which breaks the project's cap of {cap} USD.",
                "Raise [crowd] max_cost in collect.toml.",
            )
        at = iso(clock())
        ledger.intend(connection, [_entry(p, known[p.assignment_id], at) for p in new])
    paid = 0
    for payment in waiting:
        sent_before = states.get(payment.entry_id) == ledger.SENT
        _pay(engine, crowd, payment, sent_before, clock)
        paid += 1
    with transaction(engine) as connection:
        log_event(connection, iso(clock()), "bonuses paid", task, paid=paid)
    return paid


def _entry(payment: Payment, row: dict[str, object], at: str) -> dict[str, object]:
    return {
        "entry_id": payment.entry_id,
        "kind": ledger.BONUS,
        "target": payment.assignment_id,
        "batch_id": row["batch_id"],
        "amount": payment.amount,
        "fee": payment.fee,
        "token": hash_value(["bonus", payment.round, payment.worker_id]),
        "intended_at": at,
    }


def _pay(engine: Engine, crowd: Crowd, payment: Payment, sent_before: bool, clock: Clock) -> None:
    if not (sent_before and _paid_already(crowd, payment)):
        with transaction(engine) as connection:
            ledger.set_state(connection, payment.entry_id, ledger.SENT, iso(clock()))
        try:
            crowd.call(
                "send_bonus",
                WorkerId=payment.worker_id,
                AssignmentId=payment.assignment_id,
                BonusAmount=str(payment.amount),
                Reason=payment.reason,
                UniqueRequestToken=hash_value(["bonus", payment.round, payment.worker_id]),
            )
        except CrowdError:
            # The token was used: an earlier call with a lost reply has paid.
            if not _paid_already(crowd, payment):
                raise
    with transaction(engine) as connection:
        ledger.set_state(connection, payment.entry_id, ledger.CONFIRMED, iso(clock()))


def _paid_already(crowd: Crowd, payment: Payment) -> bool:
    return any(
        row["WorkerId"] == payment.worker_id
        and Decimal(row["BonusAmount"]) == payment.amount
        and row.get("Reason") == payment.reason
        for row in crowd.pages(
            "list_bonus_payments", "BonusPayments", AssignmentId=payment.assignment_id
        )
    )
