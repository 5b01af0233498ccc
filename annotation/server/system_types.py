"""The qualification types that the service itself provides."""

from __future__ import annotations

from typing import Any

from pairs_to_words.annotation.money import MASTERS
from pairs_to_words.annotation.server.requirements import (
    ADULT,
    LOCALE,
    NUMBER_APPROVED,
    PERCENT_APPROVED,
)

OPENED = 1_130_716_800_000
"""2005-10-31, when the service opened: the creation time that its own types show."""


def _system_type(type_id: str, name: str, description: str) -> dict[str, Any]:
    return {
        "QualificationTypeId": type_id,
        "CreationTime": OPENED,
        "Name": name,
        "Description": description,
        "QualificationTypeStatus": "Active",
        "IsRequestable": False,
        "AutoGranted": False,
    }


SYSTEM_TYPES: dict[str, dict[str, Any]] = {
    NUMBER_APPROVED: _system_type(
        NUMBER_APPROVED, "Worker_NumberHITsApproved", "Number of approved assignments."
    ),
    PERCENT_APPROVED: _system_type(
        PERCENT_APPROVED,
        "Worker_PercentAssignmentsApproved",
        "Share of reviewed assignments that were approved; 100 until 100 were reviewed.",
    ),
    LOCALE: _system_type(LOCALE, "Worker_Locale", "Country (and subdivision) of the worker."),
    ADULT: _system_type(ADULT, "Worker_Adult", "Has agreed to see adult content."),
    **{
        type_id: _system_type(type_id, "Masters", "Chosen by the service for good work.")
        for type_id in sorted(MASTERS)
    },
}
