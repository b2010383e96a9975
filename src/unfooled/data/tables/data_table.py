"""The table all readers return: cells by column name, rows by their place in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Cells = dict[str, Any]


@dataclass
class DataTable:
    """``rows`` are (place, cells); a place is counted in ``unit``s, from 1, as an editor does."""

    name: str
    columns: list[str]
    rows: list[tuple[int, Cells]]
    unit: str = "line"
    class_names: dict[str, list[str]] = field(default_factory=dict)
    """Names of integer labels, for columns whose format carries them (Hugging Face)."""

    def where(self, place: int) -> str:
        return f"{self.name}, {self.unit} {place}"
