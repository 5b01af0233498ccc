"""The errors that the service answers with, in the families and wordings that clients match on.

ServiceError                   HTTP status and `__type`
├── RequestError               the state of things forbids it; carries a TurkErrorCode
├── ParameterValidationError   a value that is well-formed and still not valid
├── ValidationException        a value outside the model's patterns, lengths and enums
└── AuthenticationError        who asks is not known, or the signature does not match
"""

from __future__ import annotations

from typing import Any

Millis = int


class ServiceError(Exception):
    """An answer with an error body.

    Args:
        kind: The `__type` of the body.
        message: Its `Message`.
        status: HTTP status.
    """

    def __init__(self, kind: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status

    def body(self, now: Millis) -> dict[str, Any]:
        """Return the JSON body; `now` stamps the messages of the families that carry a time."""
        return {"__type": self.kind, "message": self.message}


class RequestError(ServiceError):
    """A business rule forbids it: `client.exceptions.RequestError` in boto3."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__("RequestError", message)
        self.code = code

    def body(self, now: Millis) -> dict[str, Any]:
        """Return the JSON body with the code and the time that the service appends."""
        return {
            "__type": self.kind,
            "Message": f"{self.message} ({now})",
            "TurkErrorCode": f"AWS.MechanicalTurk.{self.code}",
        }


class ParameterValidationError(ServiceError):
    """A parameter's value is not valid here."""

    def __init__(self, message: str, code: str = "InvalidParameterValue") -> None:
        super().__init__("ParameterValidationError", message)
        self.code = code

    def body(self, now: Millis) -> dict[str, Any]:
        """Return the JSON body with the time that the service appends."""
        return {
            "__type": self.kind,
            "Message": f"{self.message} ({now} s)",
            "TurkErrorCode": f"AWS.MechanicalTurk.{self.code}",
        }


class ServiceFault(ServiceError):
    """We failed: the client may repeat the call."""

    def __init__(self, message: str) -> None:
        super().__init__("ServiceFault", message, 500)

    def body(self, now: Millis) -> dict[str, Any]:
        """Return the JSON body."""
        return {
            "__type": self.kind,
            "Message": f"{self.message} ({now} s)",
            "TurkErrorCode": "AWS.ServiceUnavailable",
        }


def validation_exception(problems: list[str]) -> ServiceError:
    """Return the service's answer to values that break the model's constraints."""
    count = len(problems)
    noun = "error" if count == 1 else "errors"
    return ServiceError(
        "ValidationException", f"{count} validation {noun} detected: {'; '.join(problems)}"
    )


def does_not_exist(kind: str, identifier: str) -> RequestError:
    """Return the error for an id that is unknown or belongs to another requester.

    Args:
        kind: `HIT`, `Assignment`, `HITType`, `QualificationType` or `QualificationRequest`.
        identifier: The id as given.
    """
    words = {
        "HIT": f"Hit {identifier} does not exist.",
        "HITType": f"Hit Type {identifier} does not exist.",
        "Assignment": f"Assignment {identifier} does not exist.",
        "QualificationType": f"QualificationType {identifier} does not exist.",
        "QualificationRequest": f"QualificationRequest {identifier} does not exist.",
    }
    return RequestError(f"{kind}DoesNotExist", words[kind])


def wrong_state(kind: str, allowed: str, current: str = "") -> RequestError:
    """Return the error for an operation that the present state does not allow.

    Args:
        kind: `HIT`, `Assignment`, `QualificationType`, `QualificationRequest` or `Qualification`.
        allowed: The states that would do, as the service prints them.
        current: The present state, printed for HITs.
    """
    words = f"This operation can be called with a status of: {allowed}"
    if current:
        words = f"This HIT is currently in the state '{current}'.  {words}"
    return RequestError(f"Invalid{kind}State", words)


def not_valid(value: object, parameter: str) -> ParameterValidationError:
    """Return the error for a value that the named parameter cannot take."""
    return ParameterValidationError(
        f'The value "{value}" is not valid for the parameter {parameter}.'
    )
