"""Review policies: check their parameters when a HIT is made, and read them when they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairs_to_words.annotation.server.faults import ParameterValidationError, not_valid

KNOWN_ANSWERS = "ScoreMyKnownAnswers/2011-09-01"
PLURALITY = "SimplePlurality/2011-09-01"

Policy = Mapping[str, Any]

YEAR = 31_536_000

# parameter -> (least, most); None where the value is not a number
_KNOWN_ANSWERS = {
    "AnswerKey": None,
    "ApproveIfKnownAnswerScoreIsAtLeast": (0, 101),
    "ApproveReason": None,
    "RejectIfKnownAnswerScoreIsLessThan": (0, 101),
    "RejectReason": None,
    "ExtendIfKnownAnswerScoreIsLessThan": (0, 101),
    "ExtendMaximumAssignments": (2, 25),
    "ExtendMinimumTimeInSeconds": (60, YEAR),
}
_PLURALITY = {
    "QuestionIds": None,
    "QuestionAgreementThreshold": (0, 100),
    "DisregardAssignmentIfRejected": None,
    "DisregardAssignmentIfKnownAnswerScoreIsLessThan": (1, 101),
    "ExtendIfHITAgreementScoreIsLessThan": (1, 100),
    "ExtendMaximumAssignments": (2, 25),
    "ExtendMinimumTimeInSeconds": (3600, YEAR),
    "ApproveIfWorkerAgreementScoreIsAtLeast": (1, 101),
    "ApproveReason": None,
    "RejectIfWorkerAgreementScoreIsLessThan": (1, 101),
    "RejectReason": None,
}
_REQUIRED = {
    KNOWN_ANSWERS: ("AnswerKey",),
    PLURALITY: ("QuestionIds", "QuestionAgreementThreshold"),
}
_LISTS = frozenset({"QuestionIds"})
_BOOLEANS = frozenset({"true", "false", "t", "f"})


def check_policies(params: Mapping[str, Any]) -> None:
    """Check the two review policies of a new HIT.

    Raises:
        ParameterValidationError: Unknown policy or parameter, or a value out of its range.
    """
    for member, name, known in (
        ("AssignmentReviewPolicy", KNOWN_ANSWERS, _KNOWN_ANSWERS),
        ("HITReviewPolicy", PLURALITY, _PLURALITY),
    ):
        policy = params.get(member)
        if policy is None:
            continue
        if policy["PolicyName"] != name:
            raise not_valid(policy["PolicyName"], f"{member}.PolicyName")
        given = {p.get("Key"): p for p in policy.get("Parameters", [])}
        for key in _REQUIRED[name]:
            if key not in given:
                raise ParameterValidationError(f"The parameter {key} of {name} is missing.")
        for key, parameter in given.items():
            if key not in known:
                raise not_valid(key, f"{member}.Parameters")
            _check_parameter(key, parameter, known[key])
        _check_extension(name, given)
        if name == PLURALITY and not question_ids(policy):
            raise not_valid("", "QuestionIds")


def _check_parameter(key: str, parameter: Policy, limits: tuple[int, int] | None) -> None:
    if key == "AnswerKey":
        entries = parameter.get("MapEntries", [])
        if not entries or any(not e.get("Key") or not e.get("Values") for e in entries):
            raise not_valid(entries, key)
        return
    values = parameter.get("Values", [])
    if not values or (len(values) > 1 and key not in _LISTS):
        raise not_valid(values, key)
    if key == "DisregardAssignmentIfRejected" and values[0].lower() not in _BOOLEANS:
        raise not_valid(values[0], key)
    if limits is None:
        return
    if not values[0].isascii() or not values[0].isdigit():
        raise not_valid(values[0], key)
    if not limits[0] <= int(values[0]) <= limits[1]:
        raise not_valid(values[0], key)


def _check_extension(name: str, given: Mapping[str, Any]) -> None:
    needs = name == PLURALITY and "ExtendIfHITAgreementScoreIsLessThan" in given
    for key in ("ExtendMaximumAssignments", "ExtendMinimumTimeInSeconds"):
        if needs and key not in given:
            raise ParameterValidationError(f"The parameter {key} of {name} is missing.")


def number(policy: Policy, key: str) -> int | None:
    """Return a numeric parameter, None when it is not given."""
    values = texts(policy, key)
    return int(values[0]) if values else None


def texts(policy: Policy, key: str) -> list[str]:
    """Return a parameter's values, empty when it is not given."""
    for parameter in policy.get("Parameters", []):
        if parameter.get("Key") == key:
            return list(parameter.get("Values", []))
    return []


def question_ids(policy: Policy) -> list[str]:
    """Return SimplePlurality's questions, given as a list or separated by commas."""
    parts = [part.strip() for value in texts(policy, "QuestionIds") for part in value.split(",")]
    return [part for part in dict.fromkeys(parts) if part]


def answer_key(policy: Policy) -> dict[str, frozenset[str]]:
    """Return the known answers: question to the set of right values."""
    for parameter in policy.get("Parameters", []):
        if parameter.get("Key") == "AnswerKey":
            return {
                entry["Key"]: frozenset(value.strip() for value in entry["Values"])
                for entry in parameter["MapEntries"]
            }
    return {}
