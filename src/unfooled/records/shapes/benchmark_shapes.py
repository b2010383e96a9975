"""What the documents of a benchmark hold, as far as somebody reads them: they are checked when read.

Further keys are allowed everywhere. Keys of a class with ``total=False`` may be missing.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from unfooled.records.shapes.result_shapes import Names


class _CellMore(TypedDict, total=False):
    task: str
    defence: str
    seed: int
    what: str | None
    grid: Names | None
    run: str
    message: str
    command: str


class CellShape(_CellMore):
    name: str
    status: Literal["done", "failed", "running", "pending"]


class BenchmarkShape(TypedDict):
    """benchmark.json, as far as a page shows it"""

    cells: list[CellShape]


class KeptCell(CellShape):
    """A cell of a benchmark that goes on."""

    kind: str
    conditions: Names
    started: bool
    seconds: float


class _StateMore(TypedDict, total=False):
    scale: float


class StateShape(_StateMore):
    """benchmark.json of a benchmark that goes on"""

    format: int
    cells: list[KeptCell]
    left_out: list[KeptCell]


class ScoredTest(TypedDict):
    examples: int
    forwards_per_example: float


class TimedTraining(TypedDict):
    seconds: float
    resumed: bool


class CellMetrics(TypedDict):
    """metrics.json, as far as the table of a benchmark shows it"""

    train: TimedTraining
    test: ScoredTest


class _PublishedMore(TypedDict, total=False):
    note: str | None


class _FigureMore(TypedDict, total=False):
    model: str
    defence: str | None
    attack: str | None
    sacc: float | None
    racc: float | None
    asr: float | None
    avgq: float | None
    certificate: str | None
    radius: float | None
    bound: str | None
    certified: float | None
    note: str | None


class FigureShape(_FigureMore):
    task: str


class PublishedShape(_PublishedMore):
    source: str
    figures: list[FigureShape]


class PlanShape(TypedDict, total=False):
    """plan.yaml of a benchmark, as far as a page shows it"""

    published: PublishedShape | None
    scale: float
