"""Anybody's table file as rows that errors can name: CSV, TSV, Parquet or JSON Lines."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from pairs_to_words.project.errors import UserError
from pyarrow import ArrowException

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
    try:
        frame = pd.read_csv(
            path,
            sep=separator,
            dtype=str,
            keep_default_na=False,
            na_values={},
            encoding="utf-8-sig",
            index_col=False,
            on_bad_lines="error",
        )
    except pd.errors.EmptyDataError as error:
        raise UserError(f"{path} is empty.", "Expected a header row and rows below it.") from error
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        said = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise UserError(f"{path}: {said}.", "Expected UTF-8 text, a header, even rows.") from error
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
