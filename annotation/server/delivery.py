"""Deliver what waits in the outbox: to an SQS-compatible queue or a webhook, with patience.

Every transport is one HTTP POST of the notification's JSON: a queue URL of SQS's query protocol
gets it as `MessageBody` of SendMessage, every other URL as the body itself. Email is not sent: it
waits in the outbox, marked so, for whoever runs the server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import requests
from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.tables import outbox
from sqlalchemy import Connection, select, update

MOST_ATTEMPTS = 8
TIMEOUT_SECONDS = 10
FIRST_WAIT_MS = 2_000
AT_ONCE = 50

_log = logging.getLogger(__name__)


async def deliver_due(crowd: Crowd) -> int:
    """Try to deliver everything whose time has come; return how many arrived."""
    rows = await crowd.read(_due)
    delivered = 0
    for row in rows:
        error = await asyncio.to_thread(_post, row)
        await crowd.write(partial(_note, row=row, error=error))
        delivered += not error
    return delivered


def _due(connection: Connection, now: int) -> list[dict[str, Any]]:
    query = (
        select(outbox)
        .where(
            outbox.c.delivered_at.is_(None),
            outbox.c.next_try_at <= now,
            outbox.c.attempts < MOST_ATTEMPTS,
        )
        .order_by(outbox.c.message_id)
        .limit(AT_ONCE)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def _post(row: Mapping[str, Any]) -> str:
    """Send one notification; return what went wrong, empty when nothing did."""
    if row["transport"] == "Email":
        return "this server sends no email"
    destination = row["destination"]
    if urlsplit(destination).scheme not in ("http", "https"):
        return "the destination is no address that this server can reach"
    try:
        if row["transport"] == "SQS":
            form = {"Action": "SendMessage", "Version": "2012-11-05", "MessageBody": row["body"]}
            answer = requests.post(
                destination, data=form, timeout=TIMEOUT_SECONDS, allow_redirects=False
            )
        else:
            answer = requests.post(
                destination,
                data=row["body"].encode(),
                headers={"Content-Type": "application/json"},
                timeout=TIMEOUT_SECONDS,
                allow_redirects=False,
            )
    except requests.RequestException as error:
        return type(error).__name__
    return "" if answer.ok else f"HTTP {answer.status_code}"


def _note(connection: Connection, now: int, *, row: Mapping[str, Any], error: str) -> None:
    attempts = row["attempts"] + 1
    wait = FIRST_WAIT_MS * 2**attempts
    changes = {"attempts": attempts, "last_error": error, "next_try_at": now + wait}
    if not error:
        changes["delivered_at"] = now
    connection.execute(
        update(outbox).where(outbox.c.message_id == row["message_id"]).values(**changes)
    )
