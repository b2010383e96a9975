"""Texts to predict: one a line, or a column of a table."""

from __future__ import annotations

from pathlib import Path

from unfooled.data.cell_values import texts_of
from unfooled.data.columns import choose_text_columns
from unfooled.data.tables import check_is_file, read_table, suffix_of
from unfooled.data.tables.raw import read_text
from unfooled.errors import UsageError


def read_texts(path: str | Path, *, text_column: str | None = None, encoding: str = "utf-8") -> list[str]:
    """Texts in file order. A ``.txt`` file holds one a line, blank lines included, so that
    the n-th answer belongs to the n-th line; empty cells of a table are kept likewise."""
    path = Path(path)
    check_is_file(path)
    if suffix_of(path) in ("", ".txt"):
        text = read_text(path, encoding=encoding)
        return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    table = read_table(path, encoding=encoding)
    column, _ = choose_text_columns(table, text=text_column or _only(table.columns))
    return texts_of(table, column, allow_empty=True)


def read_pairs(
    path: str | Path,
    *,
    text_column: str | None = None,
    pair_column: str | None = None,
    encoding: str = "utf-8",
) -> list[tuple[str, str]]:
    """Text pairs in file order, from two columns of a table."""
    table = read_table(path, encoding=encoding)
    text, pair = choose_text_columns(table, text=text_column, pair=pair_column)
    if pair is None:
        raise UsageError(
            f"{table.name}: this task takes two texts. Columns found: {', '.join(map(repr, table.columns))}."
            " Name the two with --text-column and --pair-column."
        )
    first, second = (texts_of(table, column, allow_empty=True) for column in (text, pair))
    return list(zip(first, second, strict=True))


def _only(columns: list[str]) -> str | None:
    return columns[0] if len(columns) == 1 else None
