"""collect.toml: every option, its default and its one-line comment, in one place."""

from __future__ import annotations

import difflib
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pairs_to_words.project.errors import UserError
from pydantic import BaseModel, ConfigDict, Field, ValidationError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProjectSection(_Section):
    """[project]"""

    protocol: str = Field("birds-to-words", description="the protocol this project follows")
    seed: int = Field(0, ge=0, description="seed of every draw that has no seed of its own")
    database: str = Field(
        "", description="PostgreSQL URL of the state; empty means state.db in this directory"
    )


class EmbedSection(_Section):
    """[embed]"""

    encoder: str = Field("tf_efficientnet_lite0", description="timm encoder for embeddings")
    batch_size: int = Field(0, ge=0, description="photos per forward pass; 0 chooses")


class SampleSection(_Section):
    """[sample]"""

    name: str = Field("main", description="sample that later commands use when none is named")
    plan: str = Field(
        "visual=2,species=2,genus=2,family=2,order=2,class=2",
        description="branches per pivot: visual neighbours and draws per taxonomic level",
    )
    min_observations: int = Field(
        4, ge=1, description="observations a species needs to become a pivot"
    )


class CrowdSection(_Section):
    """[crowd]"""

    endpoint: str = Field(
        "", description="MTurk-compatible endpoint; empty means this project's own server"
    )
    port: int = Field(8765, ge=0, le=65535, description="loopback port of `collect serve`")
    max_cost: Decimal = Field(
        Decimal("5000.00"), ge=0, description="spending cap of the project, fees included (USD)"
    )
    hourly_floor: Decimal = Field(
        Decimal("15.00"), ge=0, description="warn when the median worker earns less per hour (USD)"
    )


class QcSection(_Section):
    """[qc]"""

    convention: Annotated[str, Field(pattern="^(per_worker|per_event)$")] = Field(
        "per_worker", description="per_worker or per_event: how repeated judgments count"
    )
    min_judgments: int = Field(
        10, ge=1, description="judgments a worker needs before the audit recommends anything"
    )


class ReleaseSection(_Section):
    """[release]"""

    title: str = Field("", description="title on the dataset card; empty means the protocol's")
    authors: list[str] = Field([], description="names on the card and in CITATION.cff")
    licenses: list[str] = Field(
        ["CC0-1.0", "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-SA-4.0", "CC-BY-NC-SA-4.0"],
        description="photo licences (SPDX) that a release may contain",
    )


class Config(_Section):
    """A whole collect.toml."""

    project: ProjectSection = ProjectSection()
    embed: EmbedSection = EmbedSection()
    sample: SampleSection = SampleSection()
    crowd: CrowdSection = CrowdSection()
    qc: QcSection = QcSection()
    release: ReleaseSection = ReleaseSection()


def load_config(path: Path) -> Config:
    """Read and validate collect.toml.

    Raises:
        UserError: Not TOML, an unknown key or a wrong value; the message names the key.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: not valid TOML: {error}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text: {error}.") from error
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        raise UserError(f"{path}: {explain_validation(error, Config)}") from error


def default_config(**project: Any) -> str:
    """Return the text of a new collect.toml, each option with its default and its comment."""
    config = Config(project=ProjectSection(**project))
    lines = ["# Configuration of one Pairs to Words project. Every option shows its default."]
    for section_name in Config.model_fields:
        section: BaseModel = getattr(config, section_name)
        lines += ["", f"[{section_name}]"]
        for key, info in type(section).model_fields.items():
            lines.append(f"{key} = {_toml(getattr(section, key))}  # {info.description}")
    return "\n".join(lines) + "\n"


def explain_validation(error: ValidationError, model: type[BaseModel]) -> str:
    """Say in one line which key is wrong and what was expected; unknown keys get the nearest."""
    parts = []
    for problem in error.errors():
        location = [str(part) for part in problem["loc"]]
        key = ".".join(location)
        if problem["type"] == "extra_forbidden":
            known = _known_keys(model, location[:-1])
            near = difflib.get_close_matches(location[-1], known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(known)}."
            parts.append(f"unknown key `{key}`: {hint}")
        elif problem["type"] == "missing":
            parts.append(f"key `{key}` is missing.")
        else:
            parts.append(f"key `{key}`: {problem['msg']} (found {problem['input']!r}).")
    return " ".join(parts)


def _known_keys(model: type[BaseModel], location: list[str]) -> list[str]:
    for part in location:
        info = model.model_fields.get(part)
        if info is None or not isinstance(info.annotation, type):
            return []
        if not issubclass(info.annotation, BaseModel):
            return []
        model = info.annotation
    return list(model.model_fields)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return f'"{value}"'
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
