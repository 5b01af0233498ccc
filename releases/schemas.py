"""The kinds of rows that a release may hold: columns, the text, and what may not be shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import PARAGRAPHS


@dataclass(frozen=True)
class RowKind:
    """One kind of released row.

    Attributes:
        name: As MANIFEST.json says it under `rows`.
        schema: Columns of every data file; `row_id` is unique, `split` is the file's split.
        text: The column whose words and sentences are counted.
        unit: The column or columns that make the thing described or judged.
        blocking: Kind of leak -> columns whose values may not be in two splits.
        informative: Kind of overlap -> columns whose shared values are only counted.
        label: The column of the label, empty where a row has none.
        task: Hugging Face task category.
    """

    name: str
    schema: pa.Schema
    text: str
    unit: tuple[str, ...]
    blocking: Mapping[str, tuple[str, ...]]
    informative: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    label: str = ""
    task: str = "image-to-text"


def _text(name: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, pa.string(), nullable=nullable)


BIRDS_TO_WORDS = pa.schema(
    [
        _text("row_id"),
        _text("pair_id"),
        _text("text"),
        pa.field("annotation_number", pa.int32(), nullable=False),
        _text("split"),
        *[
            _text(f"photo_{side}_{name}")
            for side in (1, 2)
            for name in ("observation_url", "url", "species", "selection")
        ],
        pa.field("source_position", pa.int32(), nullable=False),
    ]
)
"""The published Birds-to-Words file (11 columns), one row per description."""

NLVR2 = pa.schema(
    [
        _text("row_id"),
        _text("image_set"),
        _text("image_pair"),
        _text("consistency_group"),
        _text("sentence"),
        _text("label"),
        _text("left_url", nullable=True),
        _text("right_url", nullable=True),
        pa.field("directory", pa.int32()),
        _text("synset"),
        _text("query"),
        _text("writer", nullable=True),
        _text("split"),
        pa.field("source_position", pa.int32(), nullable=False),
    ]
)
"""NLVR2: a sentence, two photos by address, and whether it is true of them."""

SNLI_VE = pa.schema(
    [
        _text("row_id"),
        _text("image"),
        _text("hypothesis"),
        _text("premise"),
        _text("label"),
        _text("caption_id"),
        pa.field("annotator_labels", pa.list_(pa.field("item", pa.string())), nullable=False),
        _text("split"),
        _text("premise_parse", nullable=True),
        _text("premise_binary_parse", nullable=True),
        _text("hypothesis_parse", nullable=True),
        _text("hypothesis_binary_parse", nullable=True),
        pa.field("source_position", pa.int32(), nullable=False),
    ]
)
"""SNLI-VE: a Flickr30k image, a hypothesis, and whether the image entails it."""

KINDS: Mapping[str, RowKind] = {
    kind.name: kind
    for kind in (
        RowKind(
            "paragraphs",
            PARAGRAPHS,
            "text",
            ("pair_id",),
            {
                "pair": ("pair_id",),
                "photo": ("photo_1_id", "photo_2_id"),
                "file": ("photo_1_sha256", "photo_2_sha256"),
                "pivot species": ("photo_1_species_id",),
                "text": ("text",),
            },
            {
                "writer": ("writer",),
                "species": ("photo_1_species_id", "photo_2_species_id"),
                "attribution": ("photo_1_attribution", "photo_2_attribution"),
            },
        ),
        RowKind(
            "birds-to-words",
            BIRDS_TO_WORDS,
            "text",
            ("pair_id",),
            {
                "pair": ("pair_id",),
                "photo": ("photo_1_url", "photo_2_url"),
                "observation": ("photo_1_observation_url", "photo_2_observation_url"),
                "text": ("text",),
            },
            {"species": ("photo_1_species", "photo_2_species")},
        ),
        RowKind(
            "nlvr2",
            NLVR2,
            "sentence",
            ("image_pair",),
            {"photo": ("left_url", "right_url"), "text": ("sentence",)},
            {"writer": ("writer",), "synset": ("synset",)},
            label="label",
            task="visual-question-answering",
        ),
        # Short hypotheses ("A man is outside.") recur among independent writers and are judged
        # against other images: they are counted, while a shared image blocks.
        RowKind(
            "snli-ve",
            SNLI_VE,
            "hypothesis",
            ("image",),
            {"photo": ("image",)},
            {"text": ("hypothesis",)},
            label="label",
            task="visual-question-answering",
        ),
    )
}


def row_kind(name: str) -> RowKind:
    """Return a kind of row by name.

    Raises:
        UserError: No such kind; the message lists those there are.
    """
    if name not in KINDS:
        raise UserError(f"There are no rows of kind {name!r}.", f"There are: {', '.join(KINDS)}.")
    return KINDS[name]


def json_schema(schema: pa.Schema, title: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one row."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": {column.name: _json_type(column) for column in schema},
        "required": [column.name for column in schema],
        "additionalProperties": False,
    }


def _json_type(column: pa.Field) -> dict[str, Any]:
    if pa.types.is_list(column.type):
        return {"type": "array", "items": _json_type(column.type.value_field)}
    if pa.types.is_boolean(column.type):
        name = "boolean"
    elif pa.types.is_integer(column.type):
        name = "integer"
    elif pa.types.is_floating(column.type):
        name = "number"
    else:
        name = "string"
    return {"type": [name, "null"] if column.nullable else name}
