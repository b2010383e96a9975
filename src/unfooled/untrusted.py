"""Text from outside made harmless: on a terminal, and in a spreadsheet.

Texts, labels, names of files and runs come from data. A terminal obeys escape sequences inside them, and a
spreadsheet runs cells that start like a formula.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

FORMULA = tuple("=+-@\t\r")
"""A spreadsheet takes a cell that starts with one of these for a formula, or drops it and looks again."""


def printable(text: str, *, keep: str = "") -> str:
    """The text with spaces for every kind of white space and � for control characters, but those in ``keep``.

    >>> printable("bad\\x1b[31m label")
    'bad�[31m label'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else " " if c.isspace() else "�" for c in text)


def inert_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: such a text gets a ' in front. Numbers stay."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def csv_line(row: Sequence[object]) -> str:
    """One line of a CSV file in which every cell is inert; None is an empty cell."""
    line = io.StringIO()
    csv.writer(line).writerow([inert_cell(value) for value in row])  # its own line end makes it quote \r too
    return line.getvalue().removesuffix("\r\n") + "\n"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV file in which every cell is inert."""
    return "".join(csv_line(row) for row in (header, *rows))
