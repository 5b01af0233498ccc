"""A requester's account: keys, balance, movements of money, and tokens against double effects."""

from __future__ import annotations

from pairs_to_words.annotation.money import from_cents
from pairs_to_words.annotation.server.faults import RequestError
from pairs_to_words.annotation.server.ids import new_access_key_id, new_id, new_token
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.tables import (
    access_keys,
    account_entries,
    request_tokens,
    requesters,
)
from sqlalchemy import Connection, delete, insert, select, update

TOKEN_LIFE_MS = 24 * 3600 * 1000


def create_requester(connection: Connection, name: str, opening_cents: int, now: int) -> str:
    """Open an account with play money; return its id."""
    requester_id = "A" + new_id()[1:14]
    connection.execute(
        insert(requesters).values(
            requester_id=requester_id,
            name=name,
            balance_cents=0,
            hold_cents=0,
            created_at=now,
        )
    )
    book(connection, requester_id, now, "deposit", opening_cents, "opening balance")
    return requester_id


def create_access_key(connection: Connection, requester_id: str) -> tuple[str, str]:
    """Issue a key pair; return id and secret."""
    key_id, secret = new_access_key_id(), new_token()
    connection.execute(
        insert(access_keys).values(
            access_key_id=key_id, secret_access_key=secret, requester_id=requester_id, active=True
        )
    )
    return key_id, secret


def book(
    connection: Connection, requester_id: str, now: int, kind: str, cents: int, subject: str
) -> None:
    """Move money in (positive) or out (negative), with the row that says why."""
    connection.execute(
        insert(account_entries).values(
            requester_id=requester_id, at=now, kind=kind, amount_cents=cents, subject=subject
        )
    )
    connection.execute(
        update(requesters)
        .where(requesters.c.requester_id == requester_id)
        .values(balance_cents=requesters.c.balance_cents + cents)
    )


def available_cents(connection: Connection, requester_id: str) -> int:
    """Return what is not promised to published HITs."""
    query = select(requesters.c.balance_cents - requesters.c.hold_cents).where(
        requesters.c.requester_id == requester_id
    )
    return int(connection.execute(query).scalar_one())


def require_funds(call: Call, cents: int) -> None:
    """Refuse what the account cannot pay.

    Raises:
        RequestError: InsufficientFunds.
    """
    balance = available_cents(call.connection, call.requester_id)
    if balance < cents:
        raise RequestError(
            "InsufficientFunds",
            "This Requester has insufficient funds in their account to complete this transaction. "
            f"The available balance is ${from_cents(balance)} and ${from_cents(cents)} is needed.",
        )


def token_used(call: Call, operation: str, target_id: str | None = None) -> str | None:
    """Look a UniqueRequestToken up, or with `target_id` remember that it made that.

    Returns:
        What the token made in the last 24 hours; None without a token or when it is new.
    """
    token = call.params.get("UniqueRequestToken")
    if token is None:
        return None
    mine = (
        request_tokens.c.requester_id == call.requester_id,
        request_tokens.c.operation == operation,
        request_tokens.c.token == token,
    )
    if target_id is None:
        query = select(request_tokens.c.target_id).where(
            *mine, request_tokens.c.created_at > call.now - TOKEN_LIFE_MS
        )
        found: str | None = call.connection.execute(query).scalar_one_or_none()
        return found
    call.connection.execute(delete(request_tokens).where(*mine))
    call.connection.execute(
        insert(request_tokens).values(
            requester_id=call.requester_id,
            operation=operation,
            token=token,
            target_id=target_id,
            created_at=call.now,
        )
    )
    return None


def get_account_balance(call: Call) -> dict[str, str]:
    """Return what can be spent and what is on hold."""
    query = select(requesters).where(requesters.c.requester_id == call.requester_id)
    row = call.connection.execute(query).mappings().one()
    return {
        "AvailableBalance": from_cents(row["balance_cents"] - row["hold_cents"]),
        "OnHoldBalance": from_cents(row["hold_cents"]),
    }
