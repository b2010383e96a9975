"""Figures as inline SVG: no script, no file, drawn in the colours of the page (CSS variables).

Each is about 360 units wide, so that its text keeps its size on a phone; each has a title that says in
words what it shows. Text from data is escaped by ``Markup.format``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

SLOTS = 6
"""Colours and dash patterns of the style sheet; further series start over."""

WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 42, 12, 12, 30


@dataclass(frozen=True)
class Series:
    """One line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    slot: int
    """Which colour, from 1."""


def accuracy_bar(
    accuracy: float, low: float, high: float, *, reference: float | None = None, slot: int = 1
) -> Markup:
    """A bar from 0 to 100 % with its 95 % whisker, and a tick at the reference."""
    width, middle = 240, 13
    parts = [
        Markup('<rect class="track" x="0" y="5" width="{}" height="16" rx="2"/>').format(width),
        Markup('<rect class="bar s{}" x="0" y="5" width="{}" height="16" rx="2"/>').format(
            slot, short(accuracy * width)
        ),
    ]
    words = f"accuracy {accuracy:.1%}, 95 % interval {low:.1%} to {high:.1%}"
    if reference is not None:
        at = short(reference * width)
        parts.append(
            Markup('<path class="halo" d="M{0} 1V25"/><path class="reference" d="M{0} 1V25"/>').format(at)
        )
        words += f"; most frequent class {reference:.1%}"
    left, right = short(low * width), short(high * width)
    whisker = f"M{left} {middle}H{right}M{left} 9V17M{right} 9V17"
    parts.append(Markup('<path class="halo" d="{0}"/><path class="whisker" d="{0}"/>').format(whisker))
    return svg(parts, width=width, height=26, title=words, name="accuracy")


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    percent: bool = False,
    over: str = "epoch",
    names: Sequence[str] = (),
    steps: bool = False,
) -> Markup:
    """Lines; a series of one point is a dot. Points that are not finite are left out.

    ``over`` is what runs across, ``names`` are those of its values 0, 1, … if it is not a number; ``steps``
    draws each line level up to its next point, as a share that only changes there.
    """
    lines = [(one, [p for p in one.points if all(map(math.isfinite, p))]) for one in series]
    lines = [(one, points) for one, points in lines if points]
    if not lines:
        raise ValueError("a chart needs at least one point")
    xs = [x for _, points in lines for x, _ in points]
    ys = [y for _, points in lines for _, y in points]
    across = [float(place) for place in range(max(2, len(names)))] if names else ticks(0.0, max(xs))
    up = ticks(*widened(min(ys), max(ys), 0.1 if percent else 0.01))

    def place(x: float, y: float) -> tuple[str, str]:
        horizontal = (x - across[0]) / (across[-1] - across[0])
        vertical = (y - up[0]) / (up[-1] - up[0])
        return (
            short(LEFT + horizontal * (WIDTH - LEFT - RIGHT)),
            short(HEIGHT - BOTTOM - vertical * (HEIGHT - TOP - BOTTOM)),
        )

    parts = []
    for value in up:
        _, y = place(0.0, value)
        parts.append(
            Markup(
                '<path class="grid" d="M{} {y}H{}"/><text class="y" x="{}" y="{y}" dy=".33em">{}</text>'
            ).format(LEFT, WIDTH - RIGHT, LEFT - 7, f"{value:.0%}" if percent else f"{value:g}", y=y)
        )
    for value in across:
        x, _ = place(value, up[0])
        label = f"{value:g}" if value != across[-1] else f"{over} {value:g}"
        if names:
            label = names[int(value)] if value in (across[0], across[-1]) and value < len(names) else ""
        anchor = "end" if value == across[-1] else "start" if names else "middle"
        parts.append(
            Markup('<text class="x" x="{}" y="{}" text-anchor="{}">{}</text>').format(
                x, HEIGHT - 10, anchor, label
            )
        )
    for one, points in lines:
        placed = [place(x, y) for x, y in points]
        if steps:
            path = f"M{placed[0][0]} {placed[0][1]}" + "".join(f"V{y}H{x}" for x, y in placed[1:])
        else:
            path = "M" + "L".join(f"{x} {y}" for x, y in placed)
        parts.append(Markup('<path class="line s{}" d="{}"/>').format(one.slot, path))
        for x, y in placed if len(placed) <= 12 else placed[-1:]:
            parts.append(Markup('<circle class="dot s{}" cx="{}" cy="{}" r="3"/>').format(one.slot, x, y))
    last = ", ".join(
        f"{one.name} ends at {points[-1][1]:{'.1%' if percent else '.3f'}}" for one, points in lines
    )
    return svg(parts, width=WIDTH, height=HEIGHT, title=f"{title} over {over}s: {last}", name="chart")


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers that enclose [low, high], at least two."""
    raw = max(high - low, 1e-9) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, max(last, first + 1) + 1)]


def widened(low: float, high: float, least: float) -> tuple[float, float]:
    """A range of at least ``least`` around [low, high], so that a chart does not magnify noise."""
    missing = max(0.0, least - (high - low)) / 2
    return low - missing, high + missing


def svg(parts: Sequence[Markup], *, width: int, height: int, title: str, name: str) -> Markup:
    return Markup(
        '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{title}"><title>{title}</title>{}</svg>'
    ).format(name, width, height, Markup("").join(parts), title=title)


def short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
