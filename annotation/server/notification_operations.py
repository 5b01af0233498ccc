"""Operations on notifications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pairs_to_words.annotation.server.faults import (
    ParameterValidationError,
    RequestError,
    does_not_exist,
    not_valid,
)
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.notifications import VERSION, post, test_event
from pairs_to_words.annotation.server.tables import hit_types, notification_settings
from sqlalchemy import insert, select, update


def update_settings(call: Call) -> dict[str, Any]:
    """Set, replace, pause or resume the notifications of a HIT type."""
    hit_type_id = call.params["HITTypeId"]
    own = select(hit_types.c.hit_type_id).where(
        hit_types.c.hit_type_id == hit_type_id, hit_types.c.requester_id == call.requester_id
    )
    if call.connection.execute(own).scalar_one_or_none() is None:
        raise does_not_exist("HITType", hit_type_id)
    settings = notification_settings
    mine = settings.c.hit_type_id == hit_type_id
    known = call.connection.execute(select(settings).where(mine)).mappings().one_or_none()
    specification = call.params.get("Notification")
    if specification is not None:
        _check(specification)
    elif known is None:
        raise ParameterValidationError(
            "The HIT type has no notification specification; provide one in Notification.",
            "MissingParameters",
        )
    if specification is None and "Active" not in call.params:
        raise ParameterValidationError(
            "Provide a Notification, or Active, or both.", "MissingParameters"
        )
    values = {
        "specification": known["specification"] if known and not specification else specification,
        "active": call.params.get("Active", known["active"] if known else True),
    }
    if known is None:
        call.connection.execute(insert(settings).values(hit_type_id=hit_type_id, **values))
    else:
        call.connection.execute(update(settings).where(mine).values(**values))
    return {}


def send_test_event(call: Call) -> dict[str, Any]:
    """Send a notification as if an event had happened."""
    specification = call.params["Notification"]
    event = call.params["TestEventType"]
    _check(specification)
    if event not in specification["EventTypes"]:
        raise not_valid(event, "TestEventType")
    post(call.connection, specification, call.now, [test_event(event, call.now)])
    return {}


def _check(specification: Mapping[str, Any]) -> None:
    if specification["Version"] != VERSION:
        raise not_valid(specification["Version"], "Version")
    if not specification["EventTypes"]:
        raise not_valid("", "EventTypes")
    destination, transport = specification["Destination"], specification["Transport"]
    if transport == "Email":
        valid = "@" in destination and not any(c.isspace() for c in destination)
    elif transport == "SNS" and destination.startswith("arn:"):
        valid = True
    else:
        parts = urlsplit(destination)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    if not valid:
        raise RequestError(
            "InvalidTransportEndpoint",
            f'The destination "{destination}" is not valid for the transport {transport}.',
        )
