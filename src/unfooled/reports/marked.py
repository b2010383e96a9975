"""Texts with stretches marked, as safe HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from markupsafe import Markup

MAX_TEXT = 1500


def highlighted(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    """The text with these stretches marked, cut if it is very long."""
    result, position = Markup(""), 0
    for start, end in spans:
        if position <= start < end <= MAX_TEXT:
            result += Markup("{}<mark>{}</mark>").format(text[position:start], text[start:end])
            position = end
    result += Markup("{}").format(text[position:MAX_TEXT])
    if len(text) <= MAX_TEXT:
        return result
    return result + Markup('… <span class="note">({} more characters)</span>').format(
        f"{len(text) - MAX_TEXT:,}"
    )


Layers = Sequence[tuple[str, Sequence[tuple[int, int]]]]
"""Stretches of a text in several layers, which may overlap: (an HTML class, its stretches)."""


def segments(text: str, layers: Layers) -> Iterator[tuple[int, str, str]]:
    """The text cut where a stretch begins or ends: (first character, piece, the classes it has)."""
    edges = {0, len(text), *(edge for _, spans in layers for span in spans for edge in span)}
    places = sorted(edge for edge in edges if 0 <= edge <= len(text))
    for start, end in pairwise(places):
        classes = [name for name, spans in layers if any(a <= start and end <= b for a, b in spans)]
        yield start, text[start:end], " ".join(classes)


def layered(text: str, layers: Layers) -> Markup:
    """The text with the stretches of all layers marked."""
    result = Markup("")
    for _, piece, classes in segments(text, layers):
        if classes:
            result += Markup('<mark class="{}">{}</mark>').format(classes, piece)
        else:
            result += Markup("{}").format(piece)
    return result
