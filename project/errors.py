"""Errors that a person reads, each with the exit code that the command line gives.

PersonError            what is wrong, and a hint that says what to do
├── UserError          2  wrong usage: the person can correct the call or the file
├── CouldNotError      1  the machine, network or data did not allow it
├── CheckFailed        3  a check ran and says no
└── PartlyDone         4  some of it is done; the same command again finishes it
"""

from __future__ import annotations


class PersonError(Exception):
    """An error with a sentence for the person and a hint about what to do next.

    Args:
        what: What is wrong, naming the file, row, key or item.
        hint: What was expected, or the command to type.
    """

    exit_code = 1

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} {self.hint}".rstrip()


class UserError(PersonError):
    """The call, the configuration or an input file is wrong."""

    exit_code = 2


class CouldNotError(PersonError):
    """Asked correctly, but it could not be done here and now."""

    exit_code = 1


class CheckFailed(PersonError):
    """The check ran to its end and its answer is no."""

    exit_code = 3


class PartlyDone(PersonError):
    """Part of the work is done and kept; running the command again continues."""

    exit_code = 4
