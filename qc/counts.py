"""The counts table: how often each label was given to each item, from rows that anybody has.

Every coefficient is computed from this table. It keeps only cells that are not zero, so memory
grows with the number of judgments and not with items x labels.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pairs_to_words.project.errors import UserError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Convention = Literal["per_worker", "per_worker_first", "per_event"]
CONVENTIONS: tuple[Convention, ...] = ("per_worker", "per_worker_first", "per_event")
"""per_worker: a worker's later judgment of an item replaces the earlier (the default);
per_worker_first: the earlier stays; per_event: every judgment counts."""

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")

_NAMED_ROWS = 5  # rows that an error message names before it says "and n more"
_DENSE_CELLS_PER_JUDGMENT = 8  # above this a dense table wastes memory; cells are sorted instead


@dataclass(frozen=True)
class Counts:
    """Judgments counted by item and label.

    Attributes:
        item: int64 (cells,), item index of each cell that is not zero, ascending.
        label: int64 (cells,), label index of each cell.
        count: int64 (cells,), judgments in the cell.
        n_items: Items, those without any judgment included.
        labels: The label values, in order.
        cluster: int64 (n_items,), cluster index of each item; None when each stands alone.
    """

    item: Ints
    label: Ints
    count: Ints
    n_items: int
    labels: tuple[Hashable, ...]
    cluster: Ints | None = None

    @property
    def n_judgments(self) -> int:
        """All judgments, those on items with a single one included."""
        return int(self.count.sum())

    def judgments_per_item(self) -> Ints:
        """Return int64 (n_items,): how many judgments each item has."""
        return add_up(self.item, self.count, self.n_items).astype(np.int64)

    def only_items(self, keep: npt.NDArray[np.bool_]) -> Counts:
        """Return the table of the items marked in `keep`, bool (n_items,)."""
        cells = keep[self.item]
        renumber = np.cumsum(keep) - 1
        return Counts(
            renumber[self.item[cells]],
            self.label[cells],
            self.count[cells],
            int(keep.sum()),
            self.labels,
            None if self.cluster is None else self.cluster[keep],
        )


@dataclass(frozen=True)
class Tabulated:
    """A counts table and what was done to the rows to get it.

    Attributes:
        counts: The table.
        convention: The rule for repeated judgments.
        n_rows: Rows with a label.
        n_missing: Rows without a label, left out.
        n_workers: Distinct workers; 0 when rows carry no worker.
        n_repeats: Rows of a worker about an item after that worker's first.
        n_conflicts: Worker-item combinations with different labels.
        warnings: Remarks about the labels.
    """

    counts: Counts
    convention: Convention
    n_rows: int
    n_missing: int = 0
    n_workers: int = 0
    n_repeats: int = 0
    n_conflicts: int = 0
    warnings: tuple[str, ...] = ()


def add_up(index: Ints, weight: Ints | Floats, size: int) -> Floats:
    """Return float64 (size,): the sum of `weight` at each `index`."""
    return np.asarray(np.bincount(index, weight, size), dtype=np.float64)


def count_cells(
    item: Ints,
    label: Ints,
    n_items: int,
    labels: Sequence[Hashable],
    cluster: Ints | None = None,
) -> Counts:
    """Count judgments given as codes: `item` and `label` are int64 (judgments,), from 0."""
    width = max(len(labels), 1)
    cells = n_items * width
    key = item * width
    key += label
    if cells <= max(_DENSE_CELLS_PER_JUDGMENT * len(key), 1 << 16):
        table = np.bincount(key, minlength=cells)
        found = np.flatnonzero(table)
        count = table[found]
    else:
        key.sort()
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        found = key[starts]
        count = np.diff(np.append(starts, len(key)))
    items = found // width
    return Counts(items, found - items * width, count, n_items, tuple(labels), cluster)


def counts_from_units(units: Iterable[Iterable[Any]]) -> Counts:
    """Count from one list of labels per item; None is a missing judgment.

    Raises:
        UserError: Labels of mixed types.
    """
    listed = [list(unit) for unit in units]
    rows = [(index, value) for index, unit in enumerate(listed) for value in unit]
    frame = pd.DataFrame(
        {
            "item": [index for index, _value in rows],
            "label": pd.Series([value for _index, value in rows], dtype=object),
        }
    )
    present = frame[~frame["label"].isna()]
    codes, labels = _label_codes(present["label"], "nominal", None, "label")
    item = present["item"].to_numpy(dtype=np.int64)
    return count_cells(item, codes, len(listed), labels)


def tabulate(
    frame: pd.DataFrame,
    *,
    item: str,
    label: str,
    worker: str | None = None,
    cluster: str | None = None,
    convention: Convention | None = None,
    level: Level = "nominal",
    order: Sequence[Hashable] | None = None,
) -> Tabulated:
    """Count the rows of a long table: one row per judgment, in order of arrival.

    Args:
        frame: The rows; error messages name them by the frame's index.
        item: Column of the judged item.
        label: Column of the label; None, NaN and NA are missing and are left out, counted.
        worker: Column of the worker; None when unknown (then only `per_event` is possible).
        cluster: Column of the cluster that an item belongs to.
        convention: How a worker's repeated judgments of an item count; None means `per_worker`
            where no worker contradicts themselves, else the rows are refused.
        level: Measurement level; above nominal, labels must be numbers (or `order` is given).
        order: Label values from lowest to highest, for ordinal labels that are words.

    Raises:
        UserError: An unknown column, labels of mixed types, not a number, or a worker who gave
            one item different labels and no convention named; the message names the rows.
    """
    for column in (item, label, worker, cluster):
        if column is not None and column not in frame.columns:
            raise UserError(
                f"There is no column {column!r}.",
                f"Columns: {', '.join(map(str, frame.columns))}.",
            )
    if worker is None and convention not in (None, "per_event"):
        raise UserError(f"The convention {convention} needs a worker column.", "Name it.")
    present = frame[frame[label].notna()]
    missing_names = present[item].isna()
    if worker is not None:
        missing_names = missing_names | present[worker].isna()
    if missing_names.any():
        raise UserError(
            f"{name_rows(present.index[missing_names])}: item or worker is empty.",
            "Every judgment needs both.",
        )
    codes, labels = _label_codes(present[label], level, order, label)
    items, item_names = _codes(present[item])
    keep = np.ones(len(codes), dtype=bool)
    n_workers = n_repeats = n_conflicts = 0
    if worker is not None:
        workers, worker_names = _codes(present[worker])
        n_workers = len(worker_names)
        pair = items * max(n_workers, 1) + workers
        keep, n_repeats, n_conflicts = _resolve_repeats(
            pair, codes, convention, present, (item, worker, label)
        )
    groups = None if cluster is None else _cluster_codes(present, items, item_names, cluster)
    return Tabulated(
        count_cells(items[keep], codes[keep], len(item_names), labels, groups),
        convention or ("per_event" if worker is None else "per_worker"),
        n_rows=len(present),
        n_missing=len(frame) - len(present),
        n_workers=n_workers,
        n_repeats=n_repeats,
        n_conflicts=n_conflicts,
        warnings=tuple(_label_warnings(labels, level)),
    )


def name_rows(rows: Iterable[Hashable]) -> str:
    """Write `row 4` or `rows 4, 9, 12 and 7 more`."""
    named = [str(row) for row in rows]
    more = len(named) - _NAMED_ROWS
    text = ", ".join(named[:_NAMED_ROWS]) + (f" and {more:,} more" if more > 0 else "")
    return f"{'row' if len(named) == 1 else 'rows'} {text}"


def _codes(column: pd.Series[Any]) -> tuple[Ints, Sequence[Hashable]]:
    codes, names = pd.factorize(column, sort=False)
    return codes.astype(np.int64), list(names)


def _resolve_repeats(
    pair: Ints,
    codes: Ints,
    convention: Convention | None,
    present: pd.DataFrame,
    columns: tuple[str, str, str],
) -> tuple[npt.NDArray[np.bool_], int, int]:
    series = pd.Series(pair)
    later = series.duplicated(keep="first").to_numpy()
    n_repeats = int(later.sum())
    keep = np.ones(len(pair), dtype=bool)
    if n_repeats == 0:
        return keep, 0, 0
    repeated = series.duplicated(keep=False).to_numpy()
    given = pd.DataFrame({"pair": pair[repeated], "code": codes[repeated]})
    distinct = given.groupby("pair")["code"].nunique()
    conflicting = distinct.index[distinct > 1]
    if convention is None and len(conflicting):
        rows = np.isin(pair, conflicting.to_numpy())
        first = np.flatnonzero(pair == conflicting[0])
        item, worker, label = (present[column].iloc[first] for column in columns)
        said = ", then ".join(repr(value) for value in label)
        raise UserError(
            f"{name_rows(present.index[rows])}: one worker gave one item different labels "
            f"({len(conflicting):,} such; {worker.iloc[0]!r} said of {item.iloc[0]!r}: {said}).",
            "Name the rule: per_worker (the later label replaces the earlier), per_worker_first "
            "or per_event (each counts).",
        )
    if convention == "per_worker_first":
        keep = ~later
    elif convention != "per_event":
        keep = ~series.duplicated(keep="last").to_numpy()
    return keep, n_repeats, len(conflicting)


def _cluster_codes(
    present: pd.DataFrame, items: Ints, item_names: Sequence[Hashable], cluster: str
) -> Ints:
    if present[cluster].isna().any():
        rows = present.index[present[cluster].isna()]
        raise UserError(f"{name_rows(rows)}: column {cluster!r} is empty.", "Fill it in.")
    codes, _names = _codes(present[cluster])
    of_item = np.zeros(len(item_names), dtype=np.int64)
    of_item[items] = codes
    wrong = of_item[items] != codes
    if wrong.any():
        raise UserError(
            f"{name_rows(present.index[wrong])}: the item is in two clusters.",
            f"Every row of an item needs the same {cluster!r}.",
        )
    return of_item


def _label_codes(
    column: pd.Series[Any], level: Level, order: Sequence[Hashable] | None, name: str
) -> tuple[Ints, list[Hashable]]:
    """Return int64 codes and the label values; values sort, unless `order` is given."""
    if order is not None:
        return _ordered_codes(column, order, name)
    if level != "nominal":
        return _number_codes(column, name)
    codes, names = pd.factorize(column, sort=False)
    values: list[Any] = list(names)
    if column.dtype == object or isinstance(column.dtype, pd.CategoricalDtype):
        # factorize takes 1, 1.0 and True for one value, so types are read from the rows.
        _refuse_mixed_types(column, name)
    rank = sorted(range(len(values)), key=values.__getitem__)
    position = np.empty(len(values), dtype=np.int64)
    position[rank] = np.arange(len(values))
    coded: Ints = position[codes.astype(np.int64)]
    return coded, [values[i] for i in rank]


def _refuse_mixed_types(column: pd.Series[Any], name: str) -> None:
    kinds = column.map(_kind)
    counted = kinds.value_counts()
    if len(counted) < 2:
        if len(counted) and counted.index[0] not in ("text", "number", "truth value"):
            row = column.index[0]
            raise UserError(
                f"row {row}: the label in {name!r} is a {counted.index[0]}.",
                "Labels are text, numbers or truth values.",
            )
        return
    rare = counted.index[-1]
    rows = kinds.index[kinds == rare]
    others = " and ".join(str(kind) for kind in counted.index[:-1])
    raise UserError(
        f"{name_rows(rows)}: labels in {name!r} are of mixed types ({rare} here, {others} "
        f"elsewhere), so 1 and '1' would count as different labels.",
        "Make them one type.",
    )


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "truth value"
    if isinstance(value, int | float | np.integer | np.floating):
        return "number"
    return type(value).__name__


def _number_codes(column: pd.Series[Any], name: str) -> tuple[Ints, list[Hashable]]:
    if column.dtype == object:
        _refuse_mixed_types(column, name)
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    bad = ~np.isfinite(numbers.to_numpy())
    if bad.any():
        value = column[bad].iloc[0]
        raise UserError(
            f"{name_rows(column.index[bad])}: {name!r} is not a number (found {value!r}).",
            "Levels above nominal need numbers, or the labels' order.",
        )
    values, codes = np.unique(numbers.to_numpy(), return_inverse=True)
    return codes.astype(np.int64), [float(value) for value in values]


def _ordered_codes(
    column: pd.Series[Any], order: Sequence[Hashable], name: str
) -> tuple[Ints, list[Hashable]]:
    position = {value: index for index, value in enumerate(order)}
    unknown = ~column.isin(list(position))
    if unknown.any():
        value = column[unknown].iloc[0]
        raise UserError(
            f"{name_rows(column.index[unknown])}: {value!r} is not in the order of {name!r}.",
            f"Order: {', '.join(map(str, order))}.",
        )
    codes: Ints = np.array([position[value] for value in column], dtype=np.int64)
    return codes, list(range(len(order)))


def _label_warnings(labels: Sequence[Hashable], level: Level) -> Iterable[str]:
    if level != "nominal":
        return
    alike: dict[str, list[str]] = {}
    for value in labels:
        if isinstance(value, str):
            alike.setdefault(" ".join(value.casefold().split()), []).append(value)
    for values in alike.values():
        if len(values) > 1:
            yield f"labels differ only in case or spaces: {', '.join(map(repr, values))}"
    if any(isinstance(value, float) and not value.is_integer() for value in labels):
        yield "labels are fractional numbers: nominally, 0.3 and 0.1 + 0.2 are different labels"
