"""What a chart shows: its data and its axes, described once.

``vega.spec`` turns a description into the interactive chart and ``drawings.drawing`` into a picture that
needs no script, so the two always show the same. Colours are left to the page, which knows whether it is
light or dark: a series has a slot, and the page gives each slot its colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Interval = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """What runs along one side of a chart."""

    title: str = ""
    percent: bool = False
    zero: bool = False
    """Whether the axis must reach down to 0."""
    log: bool = False
    """Spaced by the logarithm."""
    names: Sequence[str] = ()
    """Of the values 0, 1, … where these are no numbers."""
    least: float = 0.0
    """The smallest step between two marks."""


@dataclass(frozen=True)
class Series:
    """One line."""

    name: str
    points: Sequence[tuple[float, float]]
    slot: int
    """Which colour, from 1."""
    band: Sequence[Interval] = ()
    """The interval of each point."""
    alone: bool = False
    """Single points, no line: what somebody else measured."""
    hollow: bool = False
    """Open circles: one of two lines of the same colour."""


@dataclass(frozen=True)
class Value:
    """One row: a value, its interval if there is one, and the single measurements behind it."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    slot: int = 1
    marks: Sequence[float] = ()


@dataclass(frozen=True)
class Point:
    """One point with what is known about where it may lie."""

    label: str
    x: float
    y: float
    slot: int = 1
    across: Interval | None = None
    up: Interval | None = None


@dataclass(frozen=True)
class Lines:
    """Lines over an axis."""

    name: str
    title: str
    series: Sequence[Series]
    over: str
    """What runs across, in one word."""
    x: Axis = Axis()
    y: Axis = Axis()
    steps: bool = False
    """Each line is level up to its next point, as a share that only changes there."""
    note: str = ""
    band: str = "95 %"
    """What the bands are, in a word."""

    @property
    def slots(self) -> dict[str, int]:
        return {one.name: one.slot for one in self.series}

    @property
    def crosses(self) -> frozenset[str]:
        """The series that are single points, drawn as crosses."""
        return frozenset(one.name for one in self.series if one.alone)

    @property
    def hollow(self) -> frozenset[str]:
        """The series whose points are open circles."""
        return frozenset(one.name for one in self.series if one.hollow)

    @property
    def legend(self) -> bool:
        """Whether the drawing needs a legend beside it."""
        return len(self.slots) > 1

    axes = ""


@dataclass(frozen=True)
class Values:
    """One row per value with its interval and, as ticks, the single measurements behind it."""

    name: str
    title: str
    rows: Sequence[Value]
    x: Axis
    note: str = ""

    @property
    def slots(self) -> dict[str, int]:
        return {str(one.slot): one.slot for one in self.rows}

    legend = False
    axes = ""
    crosses = frozenset[str]()
    hollow = frozenset[str]()


@dataclass(frozen=True)
class Scatter:
    """One number against another. Unless ``named``, the points of a label are a group of one colour."""

    name: str
    title: str
    points: Sequence[Point]
    x: Axis
    y: Axis
    named: bool = True
    note: str = ""
    crosses = frozenset[str]()
    hollow = frozenset[str]()

    @property
    def slots(self) -> dict[str, int]:
        return {one.label: one.slot for one in self.points}

    @property
    def legend(self) -> bool:
        return not self.named

    @property
    def axes(self) -> str:
        """What the axes are, in words."""
        return f"Across: {self.x.title}. Up: {self.y.title}."


Chart = Lines | Values | Scatter
