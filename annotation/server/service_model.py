"""The published model of the MTurk requester service: check what comes in, shape what goes out.

The model is botocore's own (`mturk`, 2017-01-17), so any client of the real service fits.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, OperationModel, ServiceModel, Shape, StructureShape
from pairs_to_words.annotation.server.faults import ServiceError, validation_exception

TARGET_PREFIX = "MTurkRequesterServiceV20170117"


@cache
def service_model() -> ServiceModel:
    """Load the model once."""
    return ServiceModel(Loader().load_service_model("mturk", "service-2", "2017-01-17"), "mturk")


@cache
def operation_model(name: str) -> OperationModel:
    """Return one operation's model.

    Raises:
        ServiceError: There is no such operation.
    """
    if name not in service_model().operation_names:
        raise ServiceError("UnknownOperationException", "")
    return service_model().operation_model(name)


def check_input(name: str, body: Any) -> dict[str, Any]:
    """Validate a request body against the model; return it without members the model lacks.

    Args:
        name: The operation.
        body: The parsed JSON.

    Raises:
        ServiceError: SerializationException for a wrong JSON type, ValidationException naming
            every value that breaks a pattern, length, range or enum.
    """
    shape = operation_model(name).input_shape
    assert shape is not None  # every operation of this service takes a structure
    problems: list[str] = []
    checked = _check_structure(shape, body, "", problems)
    if problems:
        raise validation_exception(problems)
    return checked


def _check(shape: Shape, value: Any, path: str, problems: list[str]) -> Any:
    if isinstance(shape, StructureShape):
        return _check_structure(shape, value, path, problems)
    if isinstance(shape, ListShape):
        if not isinstance(value, list):
            raise _wrong_type("a list")
        return [
            _check(shape.member, entry, f"{path}.{i}.member", problems)
            for i, entry in enumerate(value, start=1)
        ]
    return _CHECKS[shape.type_name](shape, value, path, problems)


def _check_structure(
    shape: StructureShape, value: Any, path: str, problems: list[str]
) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong_type("a structure")
    checked = {}
    for name, member in shape.members.items():
        where = f"{path}.{_camel(name)}" if path else _camel(name)
        given = value.get(name)
        if given is not None:
            checked[name] = _check(member, given, where, problems)
        elif name in shape.required_members:
            problems.append(_problem("null", where, "Member must not be null"))
    return checked


def _check_string(shape: Shape, value: Any, path: str, problems: list[str]) -> str:
    if not isinstance(value, str):
        raise _wrong_type("a string")
    rules = shape.metadata
    shown = f"'{value}'"
    if "min" in rules and len(value) < rules["min"]:
        words = f"Member must have length greater than or equal to {rules['min']}"
        problems.append(_problem(shown, path, words))
    if "max" in rules and len(value) > rules["max"]:
        words = f"Member must have length less than or equal to {rules['max']}"
        problems.append(_problem(shown, path, words))
    pattern = rules.get("pattern")
    if pattern and not re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value):
        words = f"Member must satisfy regular expression pattern: {pattern}"
        problems.append(_problem(shown, path, words))
    if rules.get("enum") and value not in rules["enum"]:
        words = f"Member must satisfy enum value set: [{', '.join(rules['enum'])}]"
        problems.append(_problem(shown, path, words))
    return value


def _check_integer(shape: Shape, value: Any, path: str, problems: list[str]) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong_type("an integer")
    bits = 31 if shape.type_name == "integer" else 63
    if not -(2**bits) <= value < 2**bits:
        raise _wrong_type(f"a {bits + 1}-bit integer")
    rules = shape.metadata
    if "min" in rules and value < rules["min"]:
        words = f"Member must have value greater than or equal to {rules['min']}"
        problems.append(_problem(f"'{value}'", path, words))
    if "max" in rules and value > rules["max"]:
        words = f"Member must have value less than or equal to {rules['max']}"
        problems.append(_problem(f"'{value}'", path, words))
    return value


def _check_boolean(shape: Shape, value: Any, path: str, problems: list[str]) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type("a boolean")
    return value


def _check_timestamp(shape: Shape, value: Any, path: str, problems: list[str]) -> int:
    """Return milliseconds since 1970 UTC of epoch seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong_type("a timestamp in epoch seconds")
    if abs(value) > 253_402_300_799:  # the last second of the year 9999
        raise _wrong_type("a timestamp in epoch seconds")
    return round(value * 1000)


_CHECKS = {
    "string": _check_string,
    "integer": _check_integer,
    "long": _check_integer,
    "boolean": _check_boolean,
    "timestamp": _check_timestamp,
}


def shape_output(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """Turn an operation's result into its JSON body: times to epoch seconds, no null members."""
    shape = operation_model(name).output_shape
    return _shape(shape, value) if shape else {}


def _shape(shape: Shape, value: Any) -> Any:
    if isinstance(shape, StructureShape):
        members = shape.members
        return {k: _shape(members[k], v) for k, v in value.items() if v is not None}
    if isinstance(shape, ListShape):
        return [_shape(shape.member, entry) for entry in value]
    if shape.type_name == "timestamp":
        return value // 1000 if value % 1000 == 0 else value / 1000
    return value


def _camel(name: str) -> str:
    return name[0].lower() + name[1:]


def _problem(shown: str, path: str, words: str) -> str:
    return f"Value {shown} at '{path}' failed to satisfy constraint: {words}"


def _wrong_type(expected: str) -> ServiceError:
    return ServiceError(
        "SerializationException", f"A value in the request has the wrong type: expected {expected}."
    )
