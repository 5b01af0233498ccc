"""Anybody's table file as rows that errors can name: CSV, TSV, Parquet or JSON Lines."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pairs_to_words.project.errors import UserError
from pyarrow import ArrowException
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

_LONGEST_ROW = 64 << 20  # bytes; pyarrow refuses a row that spans two blocks

SUFFIXES = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".parquet": "Parquet",
    ".jsonl": "JSON Lines",
    ".ndjson": "JSON Lines",
    ".json": "JSON Lines",
}


def read_table(path: Path) -> pd.DataFrame:
    """Read a table; the index is the row as a person counts it.

    In CSV and TSV the header is row 1, every value is text, and an empty cell is missing; the
    words `NA` and `nan` are text. In Parquet and JSON Lines rows count from 1 and types are kept.

    Raises:
        UserError: Unknown suffix, not there, or not such a file; the message names the row.
    """
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise UserError(
            f"{path}: unknown kind of file {path.suffix!r}.", f"Known: {', '.join(SUFFIXES)}."
        )
    if not path.is_file():
        raise UserError(f"{path} is not there.")
    if kind in ("CSV", "TSV"):
        return _read_csv(path, "," if kind == "CSV" else "\t")
    if kind == "Parquet":
        try:
            frame: pd.DataFrame = pq.read_table(path).to_pandas()
        except (ArrowException, OSError) as error:
            raise UserError(f"{path} is not a readable Parquet file: {error}") from error
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        return frame
    return _read_json_lines(path)


def _read_csv(path: Path, separator: str) -> pd.DataFrame:
    with path.open("rb") as file:
        head = file.readline().decode("utf-8-sig", "replace")
    header = next(csv.reader([head], delimiter=separator), [])
    if not header:
        raise UserError(f"{path} is empty.", "Expected a header row and rows below it.")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise UserError(f"{path}: two columns are called {twice!r}.", "Rename one.")
    try:
        table = read_csv(
            path,
            read_options=ReadOptions(
                block_size=_LONGEST_ROW, use_threads=False
            ),  # threads lose rows' numbers
            parse_options=ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        said = str(error).removeprefix(f"{path}: ").removeprefix("CSV parse error: ")
        said = said.splitlines()[0][:200]
        raise UserError(f"{path}: {said}.", "Expected UTF-8 text with even rows.") from error
    frame: pd.DataFrame = table.to_pandas()
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    return frame.where(frame != "", None)


def _read_json_lines(path: Path) -> pd.DataFrame:
    from pairs_to_words.qc.imports.finished_work import read_json_lines

    rows = [(int(where.rsplit(" ", 1)[1]), row) for where, row in read_json_lines(path)]
    columns = list(dict.fromkeys(key for _line, row in rows for key in row))
    # Object columns keep 1 and "1" apart; pandas would turn a column of ints with a gap to floats.
    return pd.DataFrame(
        {c: pd.Series([row.get(c) for _line, row in rows], dtype=object) for c in columns}
    ).set_index(pd.Index([line for line, _row in rows]))
