"""How docstrings become pages: examples are code, ``names`` and :class:`roles` are plain code spans.

mkdocs.yml names this file as an extension of Griffe, which reads the sources for mkdocstrings.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?(?:[\w.]*\.)?(\w+)`")


class Docstrings(griffe.Extension):
    """Rewrites the docstring of every object that is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """A docstring with its examples (``>>>`` and what follows, up to an empty line) as blocks of code."""
    made: list[str] = []
    inside = False
    for line in _ROLE.sub(r"`\1`", text).splitlines():
        begins = line.lstrip().startswith(">>>")
        if begins and not inside:
            made += ["", "```python"]
            inside = True
        elif inside and not line.strip():
            made.append("```")
            inside = False
        made.append(line)
    return "\n".join([*made, "```"] if inside else made)
