"""CSV and TSV with true line numbers, also after quoted cells that span lines.

In TSV files quotes are usually plain characters (GLUE), sometimes CSV quoting: when every
line already has the right number of cells it is a row, and only cells quoted as a whole
are unquoted; else CSV rules apply.
"""

from __future__ import annotations

import csv
import io
import re

from unfooled.data.tables.data_table import Cells, DataTable
from unfooled.errors import DataError

csv.field_size_limit(2**31 - 1)

_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def unquote(cell: str) -> str:
    """The content of a cell that is quoted as a whole; any other cell as it is."""
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and _QUOTED.fullmatch(cell) else cell


def read_csv(name: str, text: str) -> DataTable:
    """Commas; semicolons or tabs if the header has those and no comma."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    separator = next((s for s in ",;\t" if s in first), ",")
    return _read_quoted(name, text, separator)


def read_tsv(name: str, text: str) -> DataTable:
    lines = [(i, line.rstrip("\r")) for i, line in enumerate(text.split("\n"), start=1) if line.strip()]
    split = [(i, line.split("\t")) for i, line in lines]
    width = len(split[0][1])
    if any(len(cells) != width for _, cells in split):
        return _read_quoted(name, text, "\t")
    header = _header(name, [unquote(cell) for cell in split[0][1]])
    rows = [(i, dict(zip(header, map(unquote, cells), strict=True))) for i, cells in split[1:]]
    return DataTable(name, header, rows)


def _read_quoted(name: str, text: str, separator: str) -> DataTable:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header: list[str] | None = None
    rows: list[tuple[int, Cells]] = []
    line = 1
    try:
        for cells in reader:
            if not cells:
                pass
            elif header is None:
                header = _header(name, cells)
            elif len(cells) != len(header):
                raise _ragged(name, line, len(cells), len(header), separator)
            else:
                rows.append((line, dict(zip(header, cells, strict=True))))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {line}: the quotes do not match in the row that starts here ({error})."
            ' Write a quote inside a quoted cell twice ("") and close every quoted cell.'
        ) from None
    return DataTable(name, header or [], rows)


def _header(name: str, cells: list[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        raise DataError(
            f"{name}, line 1: the header has the column {twice[0]!r} more than once."
            " Rename one; if the file has no header line, add one such as text,label."
        )
    return header


def _ragged(name: str, line: int, cells: int, expected: int, separator: str) -> DataError:
    shown = {"\t": "a tab", ",": "a comma", ";": "a semicolon"}[separator]
    found = f"{cells} cell" if cells == 1 else f"{cells} cells"
    return DataError(
        f"{name}, line {line}: this row has {found}, but the header has {expected}."
        f' Put "quotes" around every cell that contains {shown}, and fill missing cells.'
    )
