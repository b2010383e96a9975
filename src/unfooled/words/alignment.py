"""A text that was made from another one, words left out or written anew, and which part came from where.

>>> shorter = left_words("The Broncos won the final.", [False, True, True, False, False])
>>> shorter.text, shorter.original((0, 7))
('Broncos won', (4, 11))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unfooled.words.word import WORD

CharacterSpan = tuple[int, int]
"""(first character, past the last)."""
_UNSPACED = re.compile(r"\S+")


class AlignedRun(NamedTuple):
    """A stretch of the made text and the stretch of the original it stands for."""

    made: CharacterSpan
    original: CharacterSpan
    copied: bool
    """Character by character; if not, one word stands for another as a whole."""


@dataclass(frozen=True)
class Aligned:
    """The made text, and its runs from left to right. What lies in no run was added (spaces)."""

    text: str
    runs: tuple[AlignedRun, ...]

    def original(self, span: CharacterSpan) -> CharacterSpan:
        """The characters of the original that a span of the made text stands for; (0, 0) if for none."""
        return _mapped(span, [(run.made, run.original, run.copied) for run in self.runs])

    def made(self, span: CharacterSpan) -> CharacterSpan:
        """The characters of the made text that stand for a span of the original; (0, 0) if none do."""
        return _mapped(span, [(run.original, run.made, run.copied) for run in self.runs])


def spaced_words(text: str) -> list[CharacterSpan]:
    """The places of what stands between white space."""
    return [match.span() for match in _UNSPACED.finditer(text)]


def left_words(text: str, kept: Sequence[bool] | bytes) -> Aligned:
    """The words (between white space) that are kept, joined by single spaces."""
    runs: list[AlignedRun] = []
    at = 0
    for (start, end), stays in zip(spaced_words(text), kept, strict=True):
        if stays:
            runs.append(AlignedRun((at, at + end - start), (start, end), copied=True))
            at += end - start + 1
    return Aligned(" ".join(text[slice(*run.original)] for run in runs), tuple(runs))


def rewritten(text: str, write: Callable[[int, str], str | None]) -> Aligned:
    """Each word (``WORD``) as ``write(number, word)`` has it; None copies it, character by character."""
    parts: list[str] = []
    runs: list[AlignedRun] = []
    at = last = 0

    def add(part: str, original: CharacterSpan, *, copied: bool) -> None:
        nonlocal at
        if part:
            parts.append(part)
            runs.append(AlignedRun((at, at + len(part)), original, copied))
            at += len(part)

    for number, match in enumerate(WORD.finditer(text)):
        add(text[last : match.start()], (last, match.start()), copied=True)
        new = write(number, match[0])
        add(match[0] if new is None else new, match.span(), copied=new is None)
        last = match.end()
    add(text[last:], (last, len(text)), copied=True)
    return Aligned("".join(parts), tuple(runs))


def _mapped(span: CharacterSpan, runs: Sequence[tuple[CharacterSpan, CharacterSpan, bool]]) -> CharacterSpan:
    """From the first to the last run that the span touches; a word that was rewritten counts as a whole."""
    touched = [run for run in runs if run[0][1] > span[0] and run[0][0] < span[1]]
    if not touched:
        return 0, 0
    (here, there, copied), (last_here, last_there, last_copied) = touched[0], touched[-1]
    start = there[0] + max(0, span[0] - here[0]) if copied else there[0]
    end = last_there[1] - max(0, last_here[1] - span[1]) if last_copied else last_there[1]
    return start, end
