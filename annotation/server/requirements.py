"""Qualification requirements: check those of a HIT type, and check a worker against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pairs_to_words.annotation.money import MASTERS
from pairs_to_words.annotation.server.faults import (
    ParameterValidationError,
    does_not_exist,
    not_valid,
)
from pairs_to_words.annotation.server.memory import Call, Memory
from pairs_to_words.annotation.server.tables import (
    qualification_types,
    qualifications,
    worker_blocks,
    workers,
)
from sqlalchemy import Connection, bindparam, select

NUMBER_APPROVED = "00000000000000000040"
PERCENT_APPROVED = "000000000000000000L0"
LOCALE = "00000000000000000071"
ADULT = "00000000000000000060"
SYSTEM = frozenset({NUMBER_APPROVED, PERCENT_APPROVED, LOCALE, ADULT}) | MASTERS

MOST_REQUIREMENTS = 10
MOST_INTEGERS = 15
MOST_LOCALES = 30
PERCENT_STARTS_AT = 100
"""PercentAssignmentsApproved reads 100 until a worker has had this many assignments reviewed."""

ACTIONS = ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept")

Requirement = Mapping[str, Any]

_COMPARE: dict[str, Callable[[int, Sequence[int]], bool]] = {
    "LessThan": lambda value, given: value < given[0],
    "LessThanOrEqualTo": lambda value, given: value <= given[0],
    "GreaterThan": lambda value, given: value > given[0],
    "GreaterThanOrEqualTo": lambda value, given: value >= given[0],
    "EqualTo": lambda value, given: value == given[0],
    "NotEqualTo": lambda value, given: value != given[0],
    "In": lambda value, given: value in given,
    "NotIn": lambda value, given: value not in given,
}


def check_requirements(call: Call, requirements: Sequence[Requirement]) -> list[dict[str, Any]]:
    """Check a HIT type's requirements; return them with ActionsGuarded stated.

    Raises:
        ServiceError: Too many, an unknown qualification type, or values that do not fit.
    """
    if len(requirements) > MOST_REQUIREMENTS:
        raise ParameterValidationError(
            f"A HIT can have at most {MOST_REQUIREMENTS} QualificationRequirements."
        )
    return [_checked(call, requirement) for requirement in requirements]


def _checked(call: Call, requirement: Requirement) -> dict[str, Any]:
    type_id = requirement["QualificationTypeId"]
    if type_id not in SYSTEM:
        query = select(qualification_types.c.seq).where(
            qualification_types.c.qualification_type_id == type_id,
            qualification_types.c.deleted_at.is_(None),
        )
        if call.connection.execute(query).scalar_one_or_none() is None:
            raise does_not_exist("QualificationType", type_id)
    _check_values(requirement)
    if "RequiredToPreview" in requirement and "ActionsGuarded" in requirement:
        raise ParameterValidationError(
            "RequiredToPreview should not be used in combination with ActionsGuarded."
        )
    return dict(requirement)


def _check_values(requirement: Requirement) -> None:
    type_id, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    integers = requirement.get("IntegerValues", [])
    locales = requirement.get("LocaleValues", [])
    if comparator in ("Exists", "DoesNotExist"):
        if integers or locales:
            raise not_valid(integers or locales, "IntegerValues")
        return
    if type_id in MASTERS:
        raise not_valid(comparator, "Comparator")
    if type_id == LOCALE:
        if comparator not in ("EqualTo", "NotEqualTo", "In", "NotIn"):
            raise not_valid(comparator, "Comparator")
        if integers:
            raise not_valid(integers, "IntegerValues")
        values, most, name = locales, MOST_LOCALES, "LocaleValues"
    else:
        if locales:
            raise not_valid(locales, "LocaleValues")
        values, most, name = integers, MOST_INTEGERS, "IntegerValues"
    if comparator not in ("In", "NotIn"):
        most = 1
    if not 1 <= len(values) <= most:
        raise not_valid(values, name)


def guarded(requirement: Requirement) -> str:
    """Return the action that a requirement guards."""
    if requirement.get("RequiredToPreview"):
        return "PreviewAndAccept"
    return str(requirement.get("ActionsGuarded", "Accept"))


def may(
    connection: Connection,
    memory: Memory,
    worker: Mapping[str, Any],
    hit_type: Mapping[str, Any],
    action: str,
) -> list[Requirement]:
    """Return the requirements that forbid `action` (Accept, Preview or Discover) to a worker."""
    stages = {"Accept": ACTIONS, "Preview": ACTIONS[1:], "Discover": ACTIONS[2:]}[action]
    return [
        requirement
        for requirement in hit_type["requirements"]
        if guarded(requirement) in stages and not meets(connection, worker, requirement)
    ]


_BLOCK = select(worker_blocks.c.seq).where(
    worker_blocks.c.requester_id == bindparam("requester"),
    worker_blocks.c.worker_id == bindparam("worker"),
)
_WORKER = select(workers).where(workers.c.worker_id == bindparam("wanted"))


def is_blocked(connection: Connection, requester_id: str, worker_id: str) -> bool:
    """Say whether a requester blocked a worker."""
    found = connection.execute(_BLOCK, {"requester": requester_id, "worker": worker_id})
    return found.scalar_one_or_none() is not None


def meets(connection: Connection, worker: Mapping[str, Any], requirement: Requirement) -> bool:
    """Say whether a worker meets one requirement."""
    comparator = requirement["Comparator"]
    value = value_of(connection, worker, requirement["QualificationTypeId"])
    if comparator == "Exists":
        return value is not None
    if comparator == "DoesNotExist":
        return value is None
    if requirement["QualificationTypeId"] == LOCALE:
        return _locale_meets(value, comparator, requirement["LocaleValues"])
    if value is None:
        return False
    return bool(_COMPARE[comparator](value, requirement["IntegerValues"]))


def value_of(connection: Connection, worker: Mapping[str, Any], qualification_type_id: str) -> Any:
    """Return a worker's value of a qualification, None when the worker does not have it.

    A granted qualification without a score has the value 1, as the service's had.
    """
    if qualification_type_id == NUMBER_APPROVED:
        return worker["approved"]
    if qualification_type_id == PERCENT_APPROVED:
        reviewed = worker["approved"] + worker["rejected"]
        return worker["approved"] * 100 // reviewed if reviewed >= PERCENT_STARTS_AT else 100
    if qualification_type_id == LOCALE:
        return (worker["country"], worker["subdivision"]) if worker["country"] else None
    if qualification_type_id == ADULT:
        return 1
    query = select(qualifications.c.value, qualifications.c.status).where(
        qualifications.c.qualification_type_id == qualification_type_id,
        qualifications.c.worker_id == worker["worker_id"],
    )
    row = connection.execute(query).one_or_none()
    if row is None or row.status != "Granted":
        return None
    return 1 if row.value is None else row.value


def _locale_meets(value: Any, comparator: str, locales: Sequence[Mapping[str, str]]) -> bool:
    inside = value is not None and any(
        locale["Country"] == value[0] and locale.get("Subdivision") in (None, value[1])
        for locale in locales
    )
    return inside if comparator in ("EqualTo", "In") else not inside


def load_worker(connection: Connection, worker_id: str) -> Mapping[str, Any] | None:
    """Return a worker's row, None when there is no such worker."""
    row = connection.execute(_WORKER, {"wanted": worker_id}).mappings().one_or_none()
    return None if row is None else dict(row)
