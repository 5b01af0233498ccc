"""Tell a requester's systems what happened: rows in the outbox, written with the event itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pairs_to_words.annotation.server.tables import notification_settings, outbox
from sqlalchemy import Connection, bindparam, insert, select

VERSION = "2006-05-05"


_SPECIFICATION = select(notification_settings.c.specification).where(
    notification_settings.c.hit_type_id == bindparam("kind"), notification_settings.c.active
)


def notify(
    connection: Connection,
    event: str,
    now: int,
    hit: Mapping[str, Any],
    assignment_id: str | None = None,
) -> None:
    """Put an event into the outbox when the HIT's type has active notifications for it."""
    found = connection.execute(_SPECIFICATION, {"kind": hit["hit_type_id"]})
    specification = found.scalar_one_or_none()
    if specification is None or event not in specification["EventTypes"]:
        return
    post(connection, specification, now, [_event(event, now, hit, assignment_id)])


def post(
    connection: Connection, specification: Mapping[str, Any], now: int, events: list[dict[str, Any]]
) -> None:
    """Put a notification with events into the outbox."""
    body = {
        "EventDocVersion": VERSION,
        "EventDocId": f"{now}-{len(events)}",
        "CustomerId": "",
        "Events": events,
    }
    connection.execute(
        insert(outbox).values(
            transport=specification["Transport"],
            destination=specification["Destination"],
            body=json.dumps(body),
            attempts=0,
            next_try_at=now,
            last_error="",
        )
    )


def test_event(event: str, now: int) -> dict[str, Any]:
    """Return an event about a HIT that does not exist, for SendTestEventNotification."""
    pretended = {"hit_id": "T" + "0" * 29, "hit_type_id": "T" + "0" * 28 + "1"}
    about_work = event.startswith("Assignment")
    return _event(event, now, pretended, "T" + "0" * 28 + "2" if about_work else None)


def _event(
    event: str, now: int, hit: Mapping[str, Any], assignment_id: str | None
) -> dict[str, Any]:
    moment = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "EventType": event,
        "EventTimestamp": moment,
        "HITId": hit["hit_id"],
        "HITTypeId": hit["hit_type_id"],
    }
    if assignment_id:
        body["AssignmentId"] = assignment_id
    return body
