"""A table of results, independent of how it is written: page, Markdown, CSV, JSON and LaTeX show the same.

A cell has its number (to sort and compute with), its interval where there is one, and the words that are
shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from unfooled.files import JsonMapping
from unfooled.reports.formatting import duration as _duration
from unfooled.reports.formatting import number as _number
from unfooled.reports.formatting import percent as _percent
from unfooled.statistics.paired import Difference

ABSENT = "–"


@dataclass(frozen=True)
class TableCell:
    """One entry. ``value`` is a number, a name, or None where nothing was measured; parts of a note are
    separated by ``; ``."""

    value: float | str | None
    text: str
    note: str = ""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    figure: Markup | None = None


@dataclass(frozen=True)
class Column:
    """A heading, and what it means if that is not plain."""

    title: str
    numeric: bool = True
    meaning: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells under headings; ``name`` tells tables apart in files."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[TableCell]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.name}: {len(row)} cells under {len(self.columns)} headings")

    def without_empty_columns(self) -> Table:
        """Columns in which nothing was measured are left out."""
        kept = [i for i in range(len(self.columns)) if any(row[i].value is not None for row in self.rows)]
        rows = [[row[i] for i in kept] for row in self.rows]
        return Table(self.name, self.caption, [self.columns[i] for i in kept], rows)


NOTHING = TableCell(None, ABSENT)


def words(text: str, note: str = "") -> TableCell:
    return TableCell(text, text, note)


def share(rate: JsonMapping | None, note: str = "") -> TableCell:
    """A proportion as made by :func:`unfooled.statistics.intervals.rate`, in percent with its interval."""
    if rate is None or rate["value"] is None:
        return NOTHING
    low, high = rate["interval"] or (None, None)
    between = "" if low is None or high is None else f"{low * 100:.1f}–{_percent(high)}"
    return TableCell(
        rate["value"],
        _percent(rate["value"]),
        "; ".join(filter(None, (between, note))),
        low=low,
        high=high,
        n=rate.get("n"),
    )


def plain_share(value: float | None) -> TableCell:
    """A proportion without an interval."""
    return NOTHING if value is None else TableCell(value, _percent(value))


def points(found: Difference | None) -> TableCell:
    """The difference of two proportions, in percentage points with its sign and interval."""
    if found is None:
        return NOTHING
    between = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    return TableCell(
        found.value, f"{100 * found.value:+.1f}", between, low=found.low, high=found.high, n=found.n
    )


def mean(found: JsonMapping | None) -> TableCell:
    """A mean with ``value``, ``n`` and, where it is known, ``interval``."""
    if found is None or found["value"] is None:
        return NOTHING
    low, high = found.get("interval") or (None, None)
    between = "" if low is None or high is None else f"{_number(low)}–{_number(high)}"
    return TableCell(found["value"], _number(found["value"]), between, low=low, high=high, n=found["n"])


def count(value: float | None, note: str = "") -> TableCell:
    """A number that needs no interval."""
    return NOTHING if value is None else TableCell(value, _number(value), note)


def whole(value: int | None, note: str = "") -> TableCell:
    return NOTHING if value is None else TableCell(value, f"{value:,}", note)


def seconds(value: float | None, note: str = "") -> TableCell:
    return NOTHING if value is None else TableCell(value, _duration(value), note)
