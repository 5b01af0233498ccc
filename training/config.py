"""Every setting of a training run, its default and why; presets; `--set section.key=value`.

The defaults are the paper's architecture (Forbes et al. 2019, section 4) with today's training
recipe. What the paper does not state is chosen here and saved with the run.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pairs_to_words.project.config import explain_validation
from pairs_to_words.project.errors import UserError
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

JointPart = Literal["i1", "i2", "sub", "add", "max", "mul"]
ModelName = Literal["neural-naturalist"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSection(_Section):
    """[model]"""

    name: ModelName = Field("neural-naturalist", description="which model is trained")
    joint: tuple[JointPart, ...] = Field(
        ("i1", "i2", "sub"), description="parts of the joint encoding, concatenated as a sequence"
    )
    encoder_layers: int = Field(
        6, ge=0, le=24, description="layers of the comparative module; 0 passes through"
    )
    decoder_layers: int = Field(6, ge=1, le=24, description="layers of the decoder")
    width: int = Field(512, ge=8, description="model width d")
    heads: int = Field(8, ge=1, description="attention heads; must divide the width")
    feedforward: int = Field(2048, ge=8, description="width of the feed-forward layers")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout in every layer")
    image_slot_embedding: bool = Field(
        True, description="mark photo 1 and photo 2, so that the model can tell them apart"
    )
    grid_position: Literal["none", "learned", "sincos2d"] = Field(
        "learned", description="position code of the grid cells"
    )
    paper_literal: bool = Field(
        False, description="as printed: no slot and no grid position (blind to a swap of photos)"
    )
    grid_components: int = Field(
        0, ge=0, description="principal components kept of the grid features; 0 keeps all"
    )

    @field_validator("heads")
    @classmethod
    def _heads_divide_the_width(cls, heads: int, info: ValidationInfo) -> int:
        if info.data.get("width", heads) % heads:
            raise ValueError(f"must divide the width {info.data['width']}")
        return heads

    @field_validator("joint")
    @classmethod
    def _joint_has_parts(cls, joint: tuple[JointPart, ...]) -> tuple[JointPart, ...]:
        if not joint or len(set(joint)) != len(joint):
            raise ValueError("needs at least one part, each at most once")
        return joint


class DataSection(_Section):
    """[data]"""

    encoder: str = Field(
        "tf_efficientnet_lite0", description="encoder of the grid features (see `collect embed`)"
    )
    min_count: int = Field(2, ge=1, description="occurrences a word needs to enter the vocabulary")
    max_tokens: int = Field(64, ge=4, description="training texts are cut here (paper: 64)")


class TrainSection(_Section):
    """[train]"""

    optimiser: Literal["adamw", "adam", "adagrad"] = Field("adamw", description="optimiser")
    lr: float = Field(3e-4, gt=0, description="peak learning rate")
    weight_decay: float = Field(0.01, ge=0, description="weight decay (adamw)")
    initial_accumulator_value: float = Field(
        0.1, ge=0, description="adagrad's start value (TensorFlow 0.1, torch 0)"
    )
    schedule: Literal["constant", "cosine", "inverse-sqrt", "staircase", "once"] = Field(
        "cosine", description="learning rate after warm-up"
    )
    warmup_steps: int = Field(1000, ge=0, description="steps of linear warm-up")
    decay: float = Field(0.9, gt=0, le=1, description="factor of the staircase or single decay")
    decay_every: int = Field(20_000, ge=1, description="steps between decays")
    batch_size: int = Field(64, ge=1, description="examples or tokens in an optimiser step")
    batch_unit: Literal["examples", "tokens"] = Field(
        "examples", description="what batch_size counts (the paper does not say)"
    )
    accumulate: int = Field(1, ge=1, description="parts a batch is split in, to save memory")
    clip: float = Field(5.0, ge=0, description="gradient clipping; 0 switches it off")
    clip_by: Literal["norm", "value"] = Field("norm", description="how gradients are clipped")
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="label smoothing")
    max_epochs: int = Field(60, ge=1, description="passes over the training texts at most")
    max_steps: int = Field(0, ge=0, description="optimiser steps at most; 0 means no limit")
    patience: int = Field(
        10, ge=0, description="validations without a better ROUGE-L before stopping; 0: never stop"
    )
    validate_every: int = Field(1, ge=1, description="epochs between validations")
    checkpoint_minutes: float = Field(
        5.0, gt=0, description="minutes between checkpoints inside an epoch"
    )
    precision: Literal["fp32", "bf16", "fp16"] = Field("fp32", description="forward precision")
    compile: bool = Field(False, description="torch.compile the model (slower on CPU)")
    overfit: int = Field(
        0, ge=0, description="train and validate on the first N pairs only, to test a model"
    )


class DecodeSection(_Section):
    """[decode]"""

    method: Literal["greedy", "multinomial", "beam"] = Field("beam", description="decoding")
    beam_size: int = Field(5, ge=1, description="hypotheses kept in beam search")
    length_penalty: float = Field(
        0.0, ge=0, description="beam scores are divided by length to this power"
    )
    temperature: float = Field(1.0, gt=0, description="multinomial sampling temperature")
    max_tokens: int = Field(64, ge=1, description="tokens generated at most")


class TrainConfig(_Section):
    """All settings of a run; saved as models/<run>/config.json."""

    model: ModelSection = ModelSection()
    data: DataSection = DataSection()
    train: TrainSection = TrainSection()
    decode: DecodeSection = DecodeSection()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON-able values."""
        return self.model_dump(mode="json")


Overrides = dict[str, dict[str, Any]]

PRESETS: dict[str, Overrides] = {
    # A release of some hundred pairs on two CPU cores, in about a minute.
    "small": {
        "model": {
            "width": 128,
            "heads": 4,
            "feedforward": 256,
            "encoder_layers": 1,
            "decoder_layers": 2,
            "dropout": 0.3,
            "joint": ["i1", "i2", "sub"],
            "grid_components": 128,
        },
        "train": {
            "lr": 1.5e-3,
            "warmup_steps": 40,
            "label_smoothing": 0.1,
            "max_epochs": 12,
            "patience": 5,
            "weight_decay": 0.05,
        },
        # A beam prefers short, safe texts, and a small model's are safe for every pair.
        # It seldom ends by itself either: it stops at the length of a usual text.
        "decode": {"method": "greedy", "max_tokens": 48},
    },
    # The recipe for a full-size model on one GPU.
    "full": {
        "model": {"dropout": 0.2},
        "train": {"label_smoothing": 0.1, "precision": "bf16"},
    },
    # The paper's training (section 5.1); it does not say in what unit its batch of 2048 counts.
    "paper": {
        "model": {"joint": ["mul"]},
        "train": {
            "optimiser": "adagrad",
            "lr": 0.01,
            "schedule": "staircase",
            "warmup_steps": 0,
            "batch_size": 2048,
            "batch_unit": "tokens",
            "max_steps": 700_000,
            "max_epochs": 1_000_000,
        },
    },
}


def build_config(preset: str, model: str, settings: Iterable[str] = ()) -> TrainConfig:
    """Return the configuration of `preset`, the named model or table row, and `key=value` settings.

    Args:
        preset: A key of `PRESETS`.
        model: A model name, optionally with a row: `neural-naturalist/joint=i1,i2,mul`.
        settings: `section.key=value`, later ones win; a bare key that only one section has is fine.

    Raises:
        UserError: Unknown preset, model, row or key, or a wrong value; the message names it.
    """
    if preset not in PRESETS:
        raise UserError(f"There is no preset {preset!r}.", f"Presets: {', '.join(PRESETS)}.")
    values: Overrides = {section: dict(keys) for section, keys in TrainConfig().to_dict().items()}
    _merge(values, PRESETS[preset])
    _merge(values, rows_of(model))
    for setting in settings:
        section, key, value = _parse_setting(setting)
        values[section][key] = value
    return config_from(values)


def config_from(values: Mapping[str, Any], where: str = "training configuration") -> TrainConfig:
    """Validate a whole configuration, as read from a run's config.json.

    Raises:
        UserError: A key is unknown or a value wrong.
    """
    try:
        return TrainConfig.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{where}: {explain_validation(error, TrainConfig)}") from error


def rows_of(model: str) -> Overrides:
    """Return what a model name such as `neural-naturalist/small-decoder` sets.

    Rows are the named ones of `NAMED_ROWS`, or `key=value` parts for `[model]` and `[decode]`
    joined by `/`: `neural-naturalist/joint=mul/encoder_layers=0`.

    Raises:
        UserError: Unknown model or row.
    """
    from pairs_to_words.training.tables import NAMED_ROWS

    name, *parts = model.split("/")
    known = ModelSection.model_fields["name"].annotation.__args__  # type: ignore[union-attr]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Models: {', '.join(known)}."
        raise UserError(f"There is no model {name!r}.", hint)
    values: Overrides = {"model": {"name": name}, "decode": {}}
    for part in parts:
        if part in NAMED_ROWS:
            _merge(values, NAMED_ROWS[part])
        elif "=" in part:
            section, key, value = _parse_setting(part)
            values.setdefault(section, {})[key] = value
        else:
            raise UserError(
                f"There is no row {part!r} of {name}.", f"Rows: {', '.join(NAMED_ROWS)}."
            )
    return values


def _merge(values: Overrides, more: Overrides) -> None:
    for section, keys in more.items():
        values.setdefault(section, {}).update(keys)


def _parse_setting(setting: str) -> tuple[str, str, Any]:
    path, equals, text = setting.partition("=")
    if not equals:
        raise UserError(f"{setting!r} is not a setting.", "Write key=value, such as train.lr=3e-4.")
    section, key = _locate(path.strip())
    return section, key, _value(text.strip(), section, key)


def _locate(path: str) -> tuple[str, str]:
    sections = {
        name: list(info.annotation.model_fields)  # type: ignore[union-attr]
        for name, info in TrainConfig.model_fields.items()
    }
    section, dot, key = path.rpartition(".")
    if not dot:
        owners = [name for name, keys in sections.items() if path in keys]
        if len(owners) == 1:
            return owners[0], path
        if owners:
            options = " or ".join(f"{owner}.{path}" for owner in owners)
            raise UserError(f"The key {path!r} is in several sections.", f"Write {options}.")
    elif key in sections.get(section, []):
        return section, key
    known = [f"{name}.{key}" for name, keys in sections.items() for key in keys]
    near = difflib.get_close_matches(path, known, n=1) or difflib.get_close_matches(
        path, [name.partition(".")[2] for name in known], n=1
    )
    hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(known)}."
    raise UserError(f"Unknown training key {path!r}.", hint)


def _value(text: str, section: str, key: str) -> Any:
    if (section, key) == ("model", "joint"):
        return tuple(part for part in text.strip("[]()").replace("+", ",").split(",") if part)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
