"""Read a project's catalogue: photos, taxa and the index of photo files, checked on the way in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.records import PHOTO_INDEX, PHOTOS, TAXA

_HINT = "Build the catalogue again with `collect catalog`."


@dataclass(frozen=True)
class Catalog:
    """A catalogue snapshot.

    Attributes:
        photos: Schema `PHOTOS`, sorted by photo id.
        taxa: Schema `TAXA`, sorted by species id.
        index: Schema `PHOTO_INDEX`, sorted by photo id; None before any photo has a file.
    """

    photos: pa.Table
    taxa: pa.Table
    index: pa.Table | None


def catalog_files(layout: Layout) -> dict[str, Path]:
    """Return the files of a catalogue by name, those that are there."""
    files = {
        "photos": layout.catalog / "photos.parquet",
        "taxa": layout.catalog / "taxa.parquet",
        "index": layout.photos / "index.parquet",
    }
    return {name: path for name, path in files.items() if name != "index" or path.exists()}


def load_catalog(layout: Layout) -> Catalog:
    """Read and check a project's catalogue.

    Raises:
        UserError: It is not built, or a file does not have its schema; names file and column.
    """
    files = catalog_files(layout)
    if not files["photos"].exists():
        raise UserError(
            f"There is no catalogue in {layout.catalog}.",
            "Build one, such as with `collect catalog demo --species 2000 --seed 0`.",
        )
    index = None
    if "index" in files:
        index = load_table(files["index"], PHOTO_INDEX, "photo_id")
    return Catalog(
        photos=load_table(files["photos"], PHOTOS, "photo_id"),
        taxa=load_table(files["taxa"], TAXA, "species_id"),
        index=index,
    )


def load_table(path: Path, schema: pa.Schema, key: str) -> pa.Table:
    """Read a Parquet file as `schema`, sorted by `key`; further columns are left out.

    Raises:
        UserError: A column is missing or has another type, a required value is missing, or `key`
            repeats; the message names file, column and row.
    """
    table = read_parquet(path)
    for field in schema:
        if field.name not in table.column_names:
            raise UserError(f"{path} has no column `{field.name}`.", _HINT)
        column = table[field.name]
        if not field.nullable and column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy())[0])
            raise UserError(f"{path}, row {row}: `{field.name}` is empty.", _HINT)
    try:
        table = table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise UserError(f"{path} has a column of another type: {error}.", _HINT) from error
    keys = table[key].to_numpy()
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        twice = keys[1:][keys[1:] == keys[:-1]]
        if len(twice):
            raise UserError(f"{path}: `{key}` {twice[0]} is listed more than once.", _HINT)
        table = table.take(pa.array(order))
    return table
