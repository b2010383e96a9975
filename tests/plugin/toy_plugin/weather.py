"""A task whose rows come with the package."""

from __future__ import annotations

from pathlib import Path

from unfooled.data.rows import Rows, Splits
from unfooled.data.task import Task

LABELS = ("dry", "wet")


def _read(folder: Path) -> Splits:
    rows = Rows()
    for number, line in enumerate((folder / "weather.txt").read_text(encoding="utf-8").splitlines(), start=1):
        label, text = line.split(" ", maxsplit=1)
        rows.add(number, LABELS.index(label), text)
    return Splits(train=rows)


WEATHER = Task(
    name="weather",
    description="Whether a forecast is wet (a toy)",
    kind="single",
    labels=LABELS,
    max_length=16,
    asset=Path(__file__).parent,
    read=_read,
)
