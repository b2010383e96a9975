"""JSON lines (one object per line) and JSON arrays of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unfooled.data.tables.data_table import Cells, DataTable
from unfooled.errors import DataError


def read_jsonl(name: str, text: str) -> DataTable:
    rows: list[tuple[int, Cells]] = []
    for line, content in enumerate(_lines(text), start=1):
        if content.strip():
            try:
                value = json.loads(content)
            except (ValueError, RecursionError) as error:
                reason = getattr(error, "msg", None) or str(error)
                column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
                raise DataError(
                    f"{name}, line {line}{column}: not valid JSON ({reason})."
                    ' Each line must be one object such as {"text": "…", "label": 1}.'
                ) from None
            rows.append((line, _object(f"{name}, line {line}", value)))
    return DataTable(name, _columns(rows), rows)


def read_json(name: str, text: str) -> DataTable:
    """An array of objects; a file of JSON lines under this suffix is read as such."""
    if not text.lstrip().startswith("["):
        return read_jsonl(name, text)
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise DataError(
            f"{name}, line {line}: not valid JSON ({getattr(error, 'msg', None) or error})."
            ' The file must be an array such as [{"text": "…", "label": 1}, …].'
        ) from None
    rows = [(item, _object(f"{name}, item {item}", value)) for item, value in enumerate(values, start=1)]
    return DataTable(name, _columns(rows), rows, unit="item")


def _lines(text: str) -> Iterator[str]:
    """One line after the other: a list of them would be a second copy of the file in memory."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _object(where: str, value: Any) -> Cells:
    if not isinstance(value, dict):
        raise DataError(
            f"{where}: found {type(value).__name__} where an object is needed."
            ' Write rows as {"text": "…", "label": 1}.'
        )
    return value


def _columns(rows: list[tuple[int, Cells]]) -> list[str]:
    return list(dict.fromkeys(column for _, record in rows for column in record))
