"""Texts with stretches marked, as safe HTML."""

from __future__ import annotations

from collections.abc import Sequence

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
