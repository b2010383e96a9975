"""Cells that should be text: strings with something in them, nothing else."""

from __future__ import annotations

import math

from unfooled.data.tables.data_table import DataTable
from unfooled.errors import DataError


def texts_of(table: DataTable, column: str, *, allow_empty: bool = False) -> list[str]:
    """The column as text; the first cell that is not text is an error that counts them all."""
    bad: list[tuple[int, str]] = []
    for place, record in table.rows:
        problem = _problem(record.get(column), allow_empty)
        if problem:
            bad.append((place, problem))
    if bad:
        place, problem = bad[0]
        raise DataError(f"{table.where(place)}: the {column!r} cell {problem}{and_more(len(bad) - 1)}")
    return [record[column] for _, record in table.rows]


def and_more(others: int) -> str:
    return f" ({others} more such row{'s' if others > 1 else ''} in this file.)" if others else ""


def is_missing(cell: object) -> bool:
    """None, NaN, an empty string, or the word nan that a spreadsheet tool left behind."""
    if isinstance(cell, str):
        return cell.strip().lower() in ("", "nan")
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def shown(cell: object) -> str:
    text = repr(cell)
    return text if len(text) <= 40 else text[:39] + "…"


def _problem(cell: object, allow_empty: bool) -> str | None:
    if isinstance(cell, str):
        if not cell.strip() and not allow_empty:
            return "is empty. Fill it in or remove the row."
        if not cell.isascii() and any("\ud800" <= character <= "\udfff" for character in cell):
            return "holds half a character (a lone surrogate). Repair or remove it."
        return None
    if is_missing(cell):
        return "is missing. Fill it in or remove the row."
    kind = {bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "an object"}
    found = kind.get(type(cell), type(cell).__name__)
    return (
        f"is {found} ({shown(cell)}), not text. Put text there, or choose another column with --text-column."
    )
