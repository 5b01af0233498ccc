"""Read a protocol declaration: the unit, its tasks, their pages, fields, pay and rules.

A protocol is a TOML file in `protocols/` (or a path given by the user). The pipeline never asks
for a protocol's name: everything that differs between protocols is declared here.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pairs_to_words.project.config import explain_validation
from pairs_to_words.project.errors import UserError
from pydantic import BaseModel, ConfigDict, Field, ValidationError


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerField(_Part):
    """One thing a worker fills in about one item.

    Attributes:
        name: Form field and judgment field.
        kind: `label` (one of `labels`), `labels` (any of `labels`) or `text`.
        labels: The allowed labels, in the order of the page.
        level: Measurement level for agreement.
        min_words: Least number of words of a text.
        required: The page does not submit without it.
    """

    name: str
    kind: Literal["label", "labels", "text"]
    labels: list[str] = []
    level: Literal["nominal", "ordinal", "interval", "ratio"] = "nominal"
    min_words: int = 0
    required: bool = True


class PassRule(_Part):
    """The unit moves on when each of `fields` has at least `at_least` answers `label` of `of`."""

    fields: list[str]
    label: str
    at_least: int = Field(ge=1)
    of: int = Field(ge=1)

    def words(self) -> str:
        """Say the rule with its numbers, as funnels and reports print it."""
        return f"{self.label} >= {self.at_least} of {self.of} on {' and '.join(self.fields)}"


class Task(_Part):
    """One question to the crowd.

    Attributes:
        page: File name of the page in `annotation/pages/`.
        title: What workers see in the task list.
        description: One or two sentences for workers.
        after: The task whose verdict `pass` opens this one for a unit; empty opens it at once.
        shows: Answers that become items, as `task.field` (`writing.paragraph`); empty: the units.
        items_per_hit: Items on one page.
        redundancy: Different workers per item.
        reward: Pay per assignment in USD.
        estimated_seconds: Honest time for one assignment, for the hourly pay shown.
        fields: What is filled in per item.
        pass_rule: How judgments become a verdict; None where nothing is decided.
    """

    page: str
    title: str = Field(max_length=128)
    description: str = Field(max_length=2000)
    keywords: str = Field("", max_length=1000)
    after: str = ""
    shows: str = Field("", pattern=r"^([a-z_]+\.[a-z_0-9]+)?$")
    items_per_hit: int = Field(1, ge=1)
    redundancy: int = Field(1, ge=1)
    reward: Decimal = Field(decimal_places=2, ge=0)
    estimated_seconds: int = Field(ge=1)
    assignment_seconds: int = Field(3600, ge=30)
    lifetime_seconds: int = Field(1_209_600, ge=30)
    auto_approval_seconds: int = Field(259_200, ge=0)
    fields: list[AnswerField]
    pass_rule: PassRule | None = None

    def field(self, name: str) -> AnswerField:
        """Return a declared field by name."""
        return next(f for f in self.fields if f.name == name)


class ReleaseRule(_Part):
    """What a release row is and how rows are split.

    Attributes:
        text_task: The task whose text fields become rows.
        text_field: That field.
        requires: Tasks whose verdict must be `pass`.
        split_key: Column that never straddles two splits.
        splits: Split name to share; shares sum to 1.
    """

    text_task: str
    text_field: str
    requires: list[str] = []
    split_key: str
    splits: dict[str, float]


class ProtocolDeclaration(_Part):
    """One protocol."""

    name: str
    title: str
    unit: Literal["image_pair", "image_set", "image_hypothesis"]
    citation: str = ""
    tasks: dict[str, Task]
    release: ReleaseRule | None = None

    def task(self, name: str) -> Task:
        """Return a task by name.

        Raises:
            UserError: The protocol has no such task; the message lists those it has.
        """
        if name not in self.tasks:
            raise UserError(
                f"The protocol {self.name} has no task {name!r}.",
                f"It has: {', '.join(self.tasks)}.",
            )
        return self.tasks[name]


def protocol_names() -> list[str]:
    """Return the names of the packaged protocols."""
    folder = files("pairs_to_words.protocols")
    return sorted(
        p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml")
    )


def load_protocol(name: str) -> ProtocolDeclaration:
    """Read a packaged protocol by name, or a user's own by path to a `.toml` file.

    Raises:
        UserError: No such protocol, or the declaration is wrong; the message names the key.
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise UserError(f"{name} is not there.", "Give the path of a protocol file.")
        text = path.read_text(encoding="utf-8")
    elif name in protocol_names():
        text = (files("pairs_to_words.protocols") / f"{name}.toml").read_text(encoding="utf-8")
    else:
        raise UserError(
            f"There is no protocol {name!r}.", f"Packaged: {', '.join(protocol_names())}."
        )
    try:
        return ProtocolDeclaration.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"Protocol {name}: not valid TOML: {error}.") from error
    except ValidationError as error:
        raise UserError(
            f"Protocol {name}: {explain_validation(error, ProtocolDeclaration)}"
        ) from error
