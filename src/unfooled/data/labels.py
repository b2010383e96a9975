"""Labels as ids: the training data says which labels there are.

Integers 0…k−1 stay as they are, other integers (stars 1…5) are numbered in order, strings
are sorted. ``3.0`` is 3, true/false in any spelling are False and True.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unfooled.data.cell_values import and_more, is_missing, shown
from unfooled.data.tables.data_table import DataTable
from unfooled.errors import DataError, UsageError, did_you_mean

_INTEGER = re.compile(r"[+-]?\d{1,40}(\.0*)?")


@dataclass(frozen=True)
class LabelSet:
    """Label names in id order, and the id of each value as it stands in the data."""

    names: tuple[str, ...]
    ids: dict[str, int]


def fit_labels(table: DataTable, column: str, *, names: Sequence[str] | None = None) -> LabelSet:
    """The label set of the training data; ``names`` fixes the order or names the ids."""
    values = _values(table, column)
    names = names or table.class_names.get(column)
    found = Counter(values)
    if names:
        return _given(table, column, found, names=names)
    if len(found) < 2:
        raise DataError(
            f"{table.name}: every row has the label {values[0]!r} in column {column!r}. A classifier needs"
            " two classes: add rows of another class, or choose another column with --label-column."
        )
    if len(found) > 20 and len(found) > len(values) / 2:
        raise DataError(
            f"{table.name}: column {column!r} has {len(found):,} different values in {len(values):,} rows,"
            " so it is hardly a label. Choose another column with --label-column."
        )
    integers = all(_INTEGER.fullmatch(value) for value in found)
    ordered = sorted(found, key=int) if integers else sorted(found)
    return LabelSet(tuple(ordered), {value: i for i, value in enumerate(ordered)})


def label_ids(table: DataTable, column: str, labels: LabelSet) -> list[int]:
    """Ids of the column's labels; a label the training data does not have is an error."""
    values = _values(table, column)
    bad = [i for i, value in enumerate(values) if value not in labels.ids]
    if bad:
        value, place = values[bad[0]], table.rows[bad[0]][0]
        hint = did_you_mean(value, labels.ids)
        known = ", ".join(repr(name) for name in labels.names[:20])
        unlabelled = (
            " (-1 usually marks rows without a label: choose a labelled split.)" if value == "-1" else ""
        )
        raise DataError(
            f"{table.where(place)}: unknown label {value!r} in column {column!r}.{hint}{unlabelled}"
            f" Known labels: {known}. Correct it, or add such rows to the training data."
            f"{and_more(len(bad) - 1)}"
        )
    return [labels.ids[value] for value in values]


def _given(table: DataTable, column: str, found: Counter[str], *, names: Sequence[str]) -> LabelSet:
    names = tuple(str(name) for name in names)
    if len(set(names)) != len(names) or len(names) < 2:
        raise UsageError(f"--labels {','.join(names)}: give two or more different names.")
    by_name = {_canonical(name): i for i, name in enumerate(names)}
    by_id = {str(i): i for i in range(len(names))}
    ids = (
        by_id
        if column in table.class_names or (set(found) - set(by_name) and set(found) <= set(by_id))
        else by_name
    )
    label_ids(table, column, LabelSet(names, ids))
    absent = [
        name for name, i in zip(names, range(len(names)), strict=True) if i not in {ids[v] for v in found}
    ]
    if absent:
        raise DataError(
            f"{table.name}: no row has the label {absent[0]!r} in column {column!r}."
            " Take it out of --labels or add rows of that class."
        )
    return LabelSet(names, ids)


def _values(table: DataTable, column: str) -> list[str]:
    """Labels in one spelling each."""
    values: list[str] = []
    bad: list[tuple[int, str]] = []
    for place, record in table.rows:
        cell = record.get(column)
        if is_missing(cell):
            bad.append((place, "is missing. Fill it in or remove the row."))
        elif isinstance(cell, (str, bool, int)) or (isinstance(cell, float) and cell.is_integer()):
            values.append(_canonical(cell))
        elif isinstance(cell, float):
            bad.append((place, f"is {cell}, which is no class. Round or bin the values to classes."))
        else:
            bad.append((place, f"is {shown(cell)}, not a label. Give each row one string or integer."))
    if bad:
        place, problem = bad[0]
        raise DataError(
            f"{table.where(place)}: the label in column {column!r} {problem}{and_more(len(bad) - 1)}"
        )
    return values


def _canonical(cell: Any) -> str:
    text = str(int(cell)) if isinstance(cell, float) else str(cell).strip()
    if text.lower() in ("true", "false"):
        return text.capitalize()
    return str(int(text.split(".")[0])) if _INTEGER.fullmatch(text) else text
