"""The shared types: rows that one stage writes and another reads.

Column-wise data (photos, taxa, pairs) are Arrow tables with the schemas below; things that
happen one at a time (items, judgments, verdicts) are small frozen records.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as default
from typing import Any

import pyarrow as pa

LEVELS = ("species", "genus", "family", "order", "class")
"""Taxonomic levels of a branch, nearest first (sampling-definitions: level numbers 1 to 5)."""

VISUAL = "visual"

SIMULATED_WORKER_PREFIX = "ASIM"
"""Worker ids that our server gives to simulated annotators and never to a person."""

PHOTOS = pa.schema(
    [
        pa.field("photo_id", pa.int64(), nullable=False),
        pa.field("observation_id", pa.int64(), nullable=False),
        pa.field("observation_uuid", pa.string()),
        pa.field("observer_id", pa.int64(), nullable=False),
        pa.field("observer_name", pa.string(), nullable=False),
        pa.field("species_id", pa.int64(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("grade", pa.string(), nullable=False),
        pa.field("license", pa.string(), nullable=False),
        pa.field("attribution", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
    ]
)
"""catalog/photos.parquet: eligible photos, sorted by photo_id (unique). `license` is an SPDX id."""

TAXA = pa.schema(
    [
        pa.field("species_id", pa.int64(), nullable=False),
        pa.field("species", pa.string(), nullable=False),
        pa.field("common_name", pa.string(), nullable=False),
        pa.field("genus_id", pa.int64(), nullable=False),
        pa.field("genus", pa.string(), nullable=False),
        pa.field("family_id", pa.int64(), nullable=False),
        pa.field("family", pa.string(), nullable=False),
        pa.field("order_id", pa.int64(), nullable=False),
        pa.field("order", pa.string(), nullable=False),
        pa.field("class_id", pa.int64(), nullable=False),
        pa.field("class", pa.string(), nullable=False),
    ]
)
"""catalog/taxa.parquet: one row per species with its ancestors by named rank, sorted by species_id.

A missing rank has the id minus its child's id and the name `missing:<child>`, so that two unknown
ancestors never count as the same one.
"""

PHOTO_INDEX = pa.schema(
    [
        pa.field("photo_id", pa.int64(), nullable=False),
        pa.field("sha256", pa.string(), nullable=False),
        pa.field("phash", pa.uint64(), nullable=False),
        pa.field("width", pa.int32(), nullable=False),
        pa.field("height", pa.int32(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
    ]
)
"""photos/index.parquet: the downloaded (or drawn) file of each photo, sorted by photo_id."""

PAIRS = pa.schema(
    [
        pa.field("pair_id", pa.string(), nullable=False),
        pa.field("pivot_index", pa.int32(), nullable=False),
        pa.field("pivot_photo_id", pa.int64(), nullable=False),
        pa.field("branch_photo_id", pa.int64(), nullable=False),
        pa.field("pivot_species_id", pa.int64(), nullable=False),
        pa.field("branch_species_id", pa.int64(), nullable=False),
        pa.field("level_requested", pa.string(), nullable=False),
        pa.field("level_actual", pa.string(), nullable=False),
        pa.field("draw", pa.int32(), nullable=False),
        pa.field("distance", pa.float32()),
        pa.field("neighbour_rank", pa.int32()),
    ]
)
"""samples/<name>/pairs.parquet, in pivot order.

`level_requested` is `visual` or a level; `level_actual` is the true taxonomic level of the two
photos. `draw` counts from 0 inside (pivot, level_requested). `distance` is the squared L2 distance
of the embeddings; `neighbour_rank` (from 0) is set for visual branches.
"""


TRUTH = pa.schema(
    [
        pa.field("photo_id", pa.int64(), nullable=False),
        pa.field("clear", pa.bool_(), nullable=False),
        pa.field("flaw", pa.string(), nullable=False),
    ]
)
"""catalog/truth.parquet of the embedded domain: what is really drawn on each photo.

`flaw` is empty or one of the clarity criteria (several, no_animal, blurred, hidden). Every further
column is a trait named `<part>.<aspect>` (`bill.length`, `breast.pattern`, `wing.colour`) with a
value in plain English, so that simulated writers can tell true differences.
"""

PARAGRAPHS = pa.schema(
    [
        pa.field("row_id", pa.string(), nullable=False),
        pa.field("pair_id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("writer", pa.string(), nullable=False),
        pa.field("simulated", pa.bool_(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("level_requested", pa.string(), nullable=False),
        pa.field("level_actual", pa.string(), nullable=False),
        *[
            pa.field(f"photo_{side}_{name}", kind, nullable=False)
            for side in (1, 2)
            for name, kind in [
                ("id", pa.int64()),
                ("sha256", pa.string()),
                ("url", pa.string()),
                ("license", pa.string()),
                ("attribution", pa.string()),
                ("species_id", pa.int64()),
                ("species", pa.string()),
                ("common_name", pa.string()),
            ]
        ],
    ]
)
"""A released row: one text by one writer about one image pair; the pivot is photo 1.

A pair has as many rows as it has usable texts, all in one split. `writer` is a pseudonym.
"""


@dataclass(frozen=True)
class Item:
    """What is shown to a worker and kept or dropped: an image pair, a sentence with its images.

    Attributes:
        item_id: Unique inside a project and task.
        task: The protocol's task, such as `clarity`.
        unit_id: The sampled unit behind it (a pair id), shared by all tasks about that unit.
        cluster: Items that are not independent share it (a sentence, an image set).
        data: What the page shows: photo ids, a sentence, a reference label.
    """

    item_id: str
    task: str
    unit_id: str
    cluster: str = ""
    data: dict[str, Any] = default(default_factory=dict)


@dataclass(frozen=True)
class Judgment:
    """One label or text by one worker on one field of one item.

    Attributes:
        task: The protocol's task.
        item_id: The judged item.
        field: The answered field, such as `clear_1`, `label` or `paragraph`.
        worker_id: Who answered.
        value: The label or text as given.
        position: Order of arrival inside (item, field, source); later has a higher number.
        phase: `original` or `later` where a protocol asks twice (NLVR2), else empty.
        assignment_id: The submission it came in, empty for imported data.
        submitted_at: ISO 8601 UTC, empty when unknown.
        work_seconds: Seconds spent on the item (share of the submission), None when unknown.
        source: `crowd` or `import:<format>:<file name>`.
        simulated: A simulated annotator wrote it.
        telemetry: What the page measured and disclosed (pastes, keystrokes, active seconds).
    """

    task: str
    item_id: str
    field: str
    worker_id: str
    value: str
    position: int = 0
    phase: str = ""
    assignment_id: str = ""
    submitted_at: str = ""
    work_seconds: float | None = None
    source: str = "crowd"
    simulated: bool = False
    telemetry: dict[str, Any] = default(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What quality control decided about an item: other stages read it, none decides again.

    Attributes:
        task: The task whose judgments decided, such as `clarity`.
        item_id: The item.
        verdict: `pass`, `fail` or `open` (not enough judgments yet).
        rule: The rule in words with its numbers, such as `clear >= 4 of 5 on each photo`.
        reason: Which part failed, empty on a pass.
    """

    task: str
    item_id: str
    verdict: str
    rule: str
    reason: str = ""
