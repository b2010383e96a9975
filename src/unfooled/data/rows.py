"""Rows in memory: the plain columns of a split before it becomes a ``datasets.Dataset``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasets import Dataset

_BREAK = re.compile(r"<br\s*/?>")
# Bytes 0x80–0x9F of Windows-1252 that were once read as Latin-1: dashes, quotes, ellipses.
_WINDOWS = {c: bytes([c]).decode("cp1252", errors="ignore") or " " for c in range(0x80, 0xA0)}


def clean(text: str) -> str:
    """Text of a named task as it is used: ``<br />`` is a space, mis-decoded dashes and
    quotes are what their author typed, runs of white space are one space."""
    return " ".join(_BREAK.sub(" ", text).translate(_WINDOWS).split())


@dataclass
class Rows:
    """Columns of equal length. ``row`` is the 1-based place in the source: the line of a
    text file, the item of a JSON array, the row of a Parquet file or hub dataset."""

    text: list[str] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    text_pair: list[str] | None = None

    def __len__(self) -> int:
        return len(self.text)

    def add(self, row: int, label: int, text: str, text_pair: str | None = None) -> None:
        self.row.append(row)
        self.label.append(label)
        self.text.append(text)
        if text_pair is not None:
            if self.text_pair is None:
                self.text_pair = []
            self.text_pair.append(text_pair)

    def take(self, places: Iterable[int]) -> Rows:
        """The rows at these places, in that order."""
        places = list(places)

        def pick(column: Sequence) -> list:
            return [column[i] for i in places]

        pair = None if self.text_pair is None else pick(self.text_pair)
        return Rows(pick(self.text), pick(self.label), pick(self.row), pair)

    def __add__(self, other: Rows) -> Rows:
        pair = None if self.text_pair is None else [*self.text_pair, *(other.text_pair or ())]
        return Rows(self.text + other.text, self.label + other.label, self.row + other.row, pair)

    def keys(self) -> list[str]:
        """What two rows share when they are duplicates: text without case and spacing."""
        texts = [_key(text) for text in self.text]
        if self.text_pair is None:
            return texts
        return [f"{a}\x1f{_key(b)}" for a, b in zip(texts, self.text_pair, strict=True)]

    def to_dataset(self) -> Dataset:
        import pyarrow as pa
        from datasets import Dataset

        columns = {"text": pa.array(self.text, pa.string())}
        if self.text_pair is not None:
            columns["text_pair"] = pa.array(self.text_pair, pa.string())
        columns["label"] = pa.array(self.label, pa.int64())
        columns["row"] = pa.array(self.row, pa.int64())
        return Dataset(pa.table(columns))


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()


@dataclass
class Splits:
    """What a source holds. A missing dev or test split is held out of train later."""

    train: Rows
    dev: Rows | None = None
    test: Rows | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    """Rows left out while reading, by reason."""
