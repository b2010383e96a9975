"""Figures of single points as inline SVG: values with their intervals, clouds, one number against another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from unfooled.reports.figures import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, short, svg, ticks, widened

ROW = 34
"""Height of one row of a chart of values."""


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
    across: tuple[float, float] | None = None
    up: tuple[float, float] | None = None


def value_chart(values: Sequence[Value], *, title: str, percent: bool = False) -> Markup:
    """One row a value: its name, a dot, its interval as a line, single measurements as ticks."""
    if not values:
        raise ValueError("a chart needs at least one value")
    every = [number for one in values for number in (one.value, one.low, one.high, *one.marks)]
    numbers = [number for number in every if number is not None]
    least = 0.1 if percent else 0.01
    scale = ticks(*widened(min(numbers), max(numbers), least))
    bottom = TOP + ROW * len(values)

    def at(number: float) -> str:
        return short(12 + (number - scale[0]) / (scale[-1] - scale[0]) * (WIDTH - 36))

    parts = []
    for mark in scale:
        parts.append(
            Markup(
                '<path class="grid" d="M{x} {}V{}"/>'
                '<text class="x" x="{x}" y="{}" text-anchor="middle">{}</text>'
            ).format(TOP, bottom, bottom + 16, _shown(mark, percent), x=at(mark))
        )
    for number, one in enumerate(values):
        middle = TOP + ROW * number + 24
        parts.append(
            Markup('<text class="name" x="12" y="{}">{}</text>').format(middle - 12, _cut(one.label, 52))
        )
        for mark in one.marks:
            parts.append(
                Markup('<path class="tick s{}" d="M{} {}v8"/>').format(one.slot, at(mark), middle - 4)
            )
        if one.low is not None and one.high is not None:
            parts.append(
                Markup('<path class="line solid s{}" d="M{} {}H{}"/>').format(
                    one.slot, at(one.low), middle, at(one.high)
                )
            )
        parts.append(
            Markup('<circle class="dot s{}" cx="{}" cy="{}" r="4"/>').format(one.slot, at(one.value), middle)
        )
    said = "; ".join(f"{one.label} {one.value:{'.1%' if percent else '.3g'}}" for one in values[:12])
    return svg(parts, width=WIDTH, height=bottom + 24, title=f"{title}: {said}", name="values")


def scatter_chart(
    points: Sequence[Point],
    *,
    title: str,
    across: str,
    up: str,
    percent: tuple[bool, bool] = (False, False),
    log: bool = False,
    labelled: bool = True,
) -> Markup:
    """One dot a point with its intervals as lines; ``log`` spaces what runs across by its logarithm."""
    if not points:
        raise ValueError("a chart needs at least one point")
    scaled = (lambda value: math.log10(value)) if log else (lambda value: value)
    xs = [scaled(x) for one in points for x in (one.x, *(one.across or ()))]
    ys = [y for one in points for y in (one.y, *(one.up or ()))]
    sideways, upward = ticks(*_around(xs, percent[0])), ticks(*_around(ys, percent[1]))

    def place(x: float, y: float) -> tuple[str, str]:
        horizontal = (x - sideways[0]) / (sideways[-1] - sideways[0])
        vertical = (y - upward[0]) / (upward[-1] - upward[0])
        return (
            short(LEFT + horizontal * (WIDTH - LEFT - RIGHT)),
            short(HEIGHT - BOTTOM - vertical * (HEIGHT - TOP - BOTTOM)),
        )

    parts = []
    for value in upward:
        _, y = place(sideways[0], value)
        parts.append(
            Markup(
                '<path class="grid" d="M{} {y}H{}"/><text class="y" x="{}" y="{y}" dy=".33em">{}</text>'
            ).format(LEFT, WIDTH - RIGHT, LEFT - 7, _shown(value, percent[1]), y=y)
        )
    for value in sideways:
        x, _ = place(value, upward[0])
        said = _shown(10**value, False) if log else _shown(value, percent[0])
        parts.append(
            Markup('<text class="x" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                x, HEIGHT - 12, said
            )
        )
    for one in points:
        x, y = place(scaled(one.x), one.y)
        for low, high in filter(None, (one.up,)):
            ends = place(scaled(one.x), low)[1], place(scaled(one.x), high)[1]
            parts.append(Markup('<path class="line solid s{}" d="M{} {}V{}"/>').format(one.slot, x, *ends))
        for low, high in filter(None, (one.across,)):
            ends = place(scaled(low), one.y)[0], place(scaled(high), one.y)[0]
            parts.append(
                Markup('<path class="line solid s{}" d="M{} {}H{}"/>').format(one.slot, ends[0], y, ends[1])
            )
        parts.append(Markup('<circle class="dot s{}" cx="{}" cy="{}" r="4"/>').format(one.slot, x, y))
        if labelled:
            end = float(x) > WIDTH * 0.6
            parts.append(
                Markup('<text class="name" x="{}" y="{}" text-anchor="{}">{}</text>').format(
                    short(float(x) + (-8 if end else 8)),
                    short(float(y) - 7),
                    "end" if end else "start",
                    _cut(one.label, 30),
                )
            )
    said = "; ".join(f"{one.label}: {one.x:.3g}, {one.y:.3g}" for one in points[:12])
    words = f"{title}. Across: {across}. Up: {up}. {said}"
    return svg(parts, width=WIDTH, height=HEIGHT, title=words, name="scatter")


def _around(numbers: Sequence[float], percent: bool) -> tuple[float, float]:
    return widened(min(numbers), max(numbers), 0.1 if percent else 0.2)


def _shown(value: float, percent: bool) -> str:
    return f"{value:.0%}" if percent else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
