"""Texts to predict: one per line, or columns of a table whose other columns are passed on."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from unfooled.data.cell_values import texts_of
from unfooled.data.columns import choose_text_columns
from unfooled.data.tables import check_is_file, read_table, suffix_of
from unfooled.data.tables.raw import known_encoding, read_text
from unfooled.errors import UsageError


@dataclass(frozen=True)
class TextRows:
    """Rows of a file in its order: the text, or both texts of a pair, and all cells by column."""

    columns: Sequence[str]
    texts: Sequence[tuple[str, ...]]
    cells: Sequence[dict[str, Any]]


def read_rows(
    path: str | Path,
    *,
    text_column: str | None = None,
    pair_column: str | None = None,
    pairs: bool = False,
    encoding: str = "utf-8",
) -> TextRows:
    """Texts, or ``pairs`` of them, in file order. A ``.txt`` file holds one text per line, blank lines
    included, so that the n-th answer belongs to the n-th line; empty cells of a table are kept likewise."""
    path = Path(path)
    check_is_file(path)
    if suffix_of(path) in ("", ".txt") and not pairs:
        text = read_text(path, encoding=encoding)
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        return TextRows(["text"], [(line,) for line in lines], [{"text": line} for line in lines])
    table = read_table(path, encoding=encoding)
    if pairs:
        first, second = choose_text_columns(table, text=text_column, pair=pair_column)
        if second is None:
            raise UsageError(
                f"{table.name}: this task takes two texts. Columns found: "
                f"{', '.join(map(repr, table.columns))}. Name the two with --text-column and --pair-column."
            )
        chosen = [first, second]
    else:
        only = table.columns[0] if len(table.columns) == 1 else None
        chosen = [choose_text_columns(table, text=text_column or only)[0]]
    columns = [texts_of(table, column, allow_empty=True) for column in chosen]
    return TextRows(table.columns, list(zip(*columns, strict=True)), [cells for _, cells in table.rows])


def arriving_lines(stream: BufferedIOBase, *, encoding: str = "utf-8", most: int = 32) -> Iterator[list[str]]:
    """The lines of a stream in small groups, each as soon as it has arrived.

    Bytes that do not fit the encoding are replaced by �.
    """
    decoder = codecs.getincrementaldecoder(known_encoding(encoding))("replace")
    left = ""
    while data := stream.read1(1 << 16):
        *lines, left = (left + decoder.decode(data)).split("\n")
        for start in range(0, len(lines), most):
            yield [line.removesuffix("\r") for line in lines[start : start + most]]
    left += decoder.decode(b"", final=True)
    if left:
        yield [left]
