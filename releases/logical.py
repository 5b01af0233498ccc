"""A hash of rows and columns that no file format, compression or library version touches.

For each column in order: its name, type and length; then one byte per value that says whether it
is there; then lengths (int64, little endian) and UTF-8 bytes of texts, or the values themselves
(little endian, booleans as bytes), a missing value as zero or the empty text.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def logical_hash(tables: Sequence[pa.Table]) -> str:
    """Return the logical hash of tables, in the order given."""
    digest = sha256()
    for table in tables:
        for name in table.column_names:
            digest.update(f"{name}\n{table.schema.field(name).type}\n{len(table)}\n".encode())
            column = table[name]
            _update(digest, column.combine_chunks() if column.num_chunks != 1 else column.chunk(0))
    return digest.hexdigest()


def _update(digest: Any, column: pa.Array) -> None:
    digest.update(column.is_valid().cast(pa.uint8()).to_numpy().tobytes())
    if pa.types.is_list(column.type):
        lengths = pc.fill_null(pc.list_value_length(column), 0)
        digest.update(lengths.to_numpy().astype("<i8").tobytes())
        _update(digest, column.flatten())
    elif pa.types.is_string(column.type):
        text = pc.fill_null(column, "").cast(pa.large_string())
        offsets = np.frombuffer(text.buffers()[1], "<i8", len(text) + 1, text.offset * 8)
        digest.update(np.diff(offsets).tobytes())
        if len(text) and text.buffers()[2] is not None:
            digest.update(text.buffers()[2][int(offsets[0]) : int(offsets[-1])])
    elif pa.types.is_boolean(column.type):
        digest.update(pc.fill_null(column, False).cast(pa.uint8()).to_numpy().tobytes())
    else:
        values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        digest.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes())
