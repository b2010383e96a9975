"""The pieces of inline SVG, and the bar of an accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

SLOTS = 6
"""Colours and dash patterns of the style sheet; further series start over."""


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


def svg(parts: Sequence[Markup], *, width: int, height: int, title: str, name: str) -> Markup:
    return Markup(
        '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{title}"><title>{title}</title>{}</svg>'
    ).format(name, width, height, Markup("").join(parts), title=title)


def short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
