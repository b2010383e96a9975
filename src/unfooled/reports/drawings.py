"""Charts as inline SVG: no script, no file, drawn in the colours of the page (CSS variables).

Each is about 360 units wide, so that its text keeps its size on a phone; each has a title that says in
words what it shows. Text from data is escaped by ``Markup.format``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from unfooled.reports.charts import Axis, Chart, Lines, Scatter, Values
from unfooled.reports.svg import short, svg

WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 42, 12, 12, 30
ROW = 34
"""Height of one row of a chart of values."""


def drawing(chart: Chart) -> Markup:
    """The picture of a chart."""
    if isinstance(chart, Lines):
        return _lines(chart)
    return _values(chart) if isinstance(chart, Values) else _scatter(chart)


@dataclass(frozen=True)
class _Frame:
    """The marks along both axes, and where a point lies between them."""

    across: Sequence[float]
    up: Sequence[float]

    def place(self, x: float, y: float) -> tuple[str, str]:
        horizontal = (x - self.across[0]) / (self.across[-1] - self.across[0])
        vertical = (y - self.up[0]) / (self.up[-1] - self.up[0])
        return (
            short(LEFT + horizontal * (WIDTH - LEFT - RIGHT)),
            short(HEIGHT - BOTTOM - vertical * (HEIGHT - TOP - BOTTOM)),
        )

    def levels(self, said: Sequence[str]) -> list[Markup]:
        """A line across the chart at each mark of the upright axis, and what it stands for."""
        form = Markup(
            '<path class="grid" d="M{} {y}H{}"/><text class="y" x="{}" y="{y}" dy=".33em">{}</text>'
        )
        return [
            form.format(LEFT, WIDTH - RIGHT, LEFT - 7, words, y=self.place(self.across[0], value)[1])
            for value, words in zip(self.up, said, strict=True)
        ]

    def foot(self, value: float, words: str, anchor: str, lift: int) -> Markup:
        """What a mark below the chart stands for."""
        x, _ = self.place(value, self.up[0])
        return Markup('<text class="x" x="{}" y="{}" text-anchor="{}">{}</text>').format(
            x, HEIGHT - lift, anchor, words
        )


def _lines(chart: Lines) -> Markup:
    """Lines; a series of one point is a dot. Points that are not finite are left out."""
    lines = [(one, [p for p in one.points if all(map(math.isfinite, p))]) for one in chart.series]
    lines = [(one, points) for one, points in lines if points]
    if not lines:
        raise ValueError("a chart needs at least one point")
    xs = [x for _, points in lines for x, _ in points]
    ys = [y for _, points in lines for _, y in points]
    names, percent = chart.x.names, chart.y.percent
    frame = _Frame(
        [float(place) for place in range(max(2, len(names)))] if names else ticks(0.0, max(xs)),
        ticks(*widened(ys, 0.1 if percent else 0.01)),
    )
    parts = frame.levels([f"{value:.0%}" if percent else f"{value:g}" for value in frame.up])
    first, last = frame.across[0], frame.across[-1]
    for value in frame.across:
        label = f"{value:g}" if value != last else f"{chart.over} {value:g}"
        if names:
            label = names[int(value)] if value in (first, last) and value < len(names) else ""
        anchor = "end" if value == last else "start" if names else "middle"
        parts.append(frame.foot(value, label, anchor, 10))
    for one, points in lines:
        placed = [frame.place(x, y) for x, y in points]
        if one.alone:
            parts += [_cross(one.slot, x, y) for x, y in placed]
            continue
        if chart.steps:
            path = f"M{placed[0][0]} {placed[0][1]}" + "".join(f"V{y}H{x}" for x, y in placed[1:])
        else:
            path = "M" + "L".join(f"{x} {y}" for x, y in placed)
        parts.append(Markup('<path class="line s{}" d="{}"/>').format(one.slot, path))
        dot = _circle if one.hollow else _dot
        parts += [dot(one.slot, x, y, 3) for x, y in (placed if len(placed) <= 12 else placed[-1:])]
    ends = ", ".join(
        f"{one.name} ends at {points[-1][1]:{'.1%' if percent else '.3f'}}" for one, points in lines
    )
    words = f"{chart.title} by {chart.over}: {ends}"
    return svg(parts, width=WIDTH, height=HEIGHT, title=words, name="chart")


def _values(chart: Values) -> Markup:
    """One row per value: its name, a dot, its interval as a line, single measurements as ticks."""
    if not chart.rows:
        raise ValueError("a chart needs at least one value")
    percent = chart.x.percent
    every = [number for one in chart.rows for number in (one.value, one.low, one.high, *one.marks)]
    scale = ticks(*widened([number for number in every if number is not None], 0.1 if percent else 0.01))
    bottom = TOP + ROW * len(chart.rows)

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
    for number, one in enumerate(chart.rows):
        middle = TOP + ROW * number + 24
        parts.append(
            Markup('<text class="name" x="12" y="{}">{}</text>').format(middle - 12, _cut(one.label, 52))
        )
        for mark in one.marks:
            parts.append(
                Markup('<path class="tick s{}" d="M{} {}v8"/>').format(one.slot, at(mark), middle - 4)
            )
        if one.low is not None and one.high is not None:
            parts.append(_solid(one.slot, f"M{at(one.low)} {middle}H{at(one.high)}"))
        parts.append(_dot(one.slot, at(one.value), middle, 4))
    said = "; ".join(f"{one.label} {one.value:{'.1%' if percent else '.3g'}}" for one in chart.rows[:12])
    return svg(parts, width=WIDTH, height=bottom + 24, title=f"{chart.title}: {said}", name="values")


def _scatter(chart: Scatter) -> Markup:
    """One dot per point with its intervals as lines."""
    if not chart.points:
        raise ValueError("a chart needs at least one point")

    def scaled(value: float) -> float:
        return math.log10(value) if chart.x.log else value

    frame = _Frame(
        _around([scaled(x) for one in chart.points for x in (one.x, *(one.across or ()))], chart.x),
        _around([y for one in chart.points for y in (one.y, *(one.up or ()))], chart.y),
    )
    parts = frame.levels([_shown(value, chart.y.percent) for value in frame.up])
    for value in frame.across:
        said = _shown(10**value, False) if chart.x.log else _shown(value, chart.x.percent)
        parts.append(frame.foot(value, said, "middle", 12))
    for one in chart.points:
        x, y = frame.place(scaled(one.x), one.y)
        if one.up:
            low, high = (frame.place(scaled(one.x), end)[1] for end in one.up)
            parts.append(_solid(one.slot, f"M{x} {low}V{high}"))
        if one.across:
            low, high = (frame.place(scaled(end), one.y)[0] for end in one.across)
            parts.append(_solid(one.slot, f"M{low} {y}H{high}"))
        parts.append(_dot(one.slot, x, y, 4))
        if chart.named:
            end = float(x) > WIDTH * 0.6
            parts.append(
                Markup('<text class="name" x="{}" y="{}" text-anchor="{}">{}</text>').format(
                    short(float(x) + (-8 if end else 8)),
                    short(float(y) - 7),
                    "end" if end else "start",
                    _cut(one.label, 30),
                )
            )
    listed = "; ".join(f"{one.label}: {one.x:.3g}, {one.y:.3g}" for one in chart.points[:12])
    words = f"{chart.title}. {chart.axes} {listed}"
    return svg(parts, width=WIDTH, height=HEIGHT, title=words, name="scatter")


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers that enclose [low, high], at least two."""
    raw = max(high - low, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, max(last, first + 1) + 1)]


def widened(numbers: Sequence[float], least: float) -> tuple[float, float]:
    """A range of at least ``least`` around the numbers, so that a chart does not magnify noise."""
    low, high = min(numbers), max(numbers)
    missing = max(0.0, least - (high - low)) / 2
    return low - missing, high + missing


def _around(numbers: Sequence[float], axis: Axis) -> list[float]:
    return ticks(*widened(numbers, 0.1 if axis.percent else 0.2))


def _dot(slot: int, x: str, y: object, radius: int) -> Markup:
    return Markup('<circle class="dot s{}" cx="{}" cy="{}" r="{}"/>').format(slot, x, y, radius)


def _circle(slot: int, x: str, y: object, radius: int) -> Markup:
    return Markup('<circle class="line solid hollow s{}" cx="{}" cy="{}" r="{}"/>').format(slot, x, y, radius)


def _cross(slot: int, x: str, y: str) -> Markup:
    return _solid(slot, f"M{x} {y}m-4 -4l8 8m0 -8l-8 8")


def _solid(slot: int, path: str) -> Markup:
    return Markup('<path class="line solid s{}" d="{}"/>').format(slot, path)


def _shown(value: float, percent: bool) -> str:
    return f"{value:.0%}" if percent else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
