"""Results that TextAttack logged (``textattack attack --log-to-csv``), read, checked and summed up.

Its marks (``[[word]]``, or ``<font …>`` in HTML style) are taken off, and what changed is found by comparing
the texts. Counting follows TextAttack: skipped inputs were wrong without an attack, so they count against
both accuracies and are neither attacked nor asked further.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal, get_args

from unfooled.files import JsonObject
from unfooled.statistics.intervals import rate

LoggedResult = Literal["Successful", "Failed", "Skipped"]
RESULTS: tuple[str, ...] = get_args(LoggedResult)
LARGEST_COMPARISON = 1_000_000

# For comparing texts that others tokenised: punctuation marks count as words of their own.
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class WordEdit:
    """A stretch of words that differs, with its place (which text, start, end) on either side."""

    before: str
    after: str
    original_place: tuple[int, int, int]
    perturbed_place: tuple[int, int, int]


@dataclass(frozen=True)
class TextAttackRow:
    """One attacked input."""

    row: int
    """Its number in the file, from 1."""
    original: tuple[str, ...]
    """The text, or both texts of a pair."""
    perturbed: tuple[str, ...]
    original_score: float
    perturbed_score: float
    original_output: str
    perturbed_output: str
    truth: str
    queries: int
    result: LoggedResult
    edits: tuple[WordEdit, ...]


@dataclass(frozen=True)
class TextAttackResults:
    """All inputs of one file."""

    file: str
    rows: tuple[TextAttackRow, ...]

    @property
    def name(self) -> str:
        return Path(self.file).stem

    def count(self, result: LoggedResult) -> int:
        return sum(row.result == result for row in self.rows)

    def summary(self) -> JsonObject:
        """SAcc, RAcc and ASR as value, count of n and Wilson interval; AvgQ over the attacked inputs."""
        failed, won = self.count("Failed"), self.count("Successful")
        attacked = [row.queries for row in self.rows if row.result != "Skipped"]
        return {
            "file": self.file,
            "examples": len(self.rows),
            "successful": won,
            "failed": failed,
            "skipped": self.count("Skipped"),
            "sacc": rate(len(attacked), len(self.rows)),
            "racc": rate(failed, len(self.rows)),
            "asr": rate(won, len(attacked)),
            "avg_queries": statistics.fmean(attacked) if attacked else None,
        }


def word_edits(which: int, before: str, after: str) -> list[WordEdit]:
    """The stretches of words in which two texts differ; ``which`` says which text of a pair they are."""
    old, new = ([match.span() for match in _WORD.finditer(text)] for text in (before, after))
    edits = []
    for i, j, k, m in _differences([before[s:e] for s, e in old], [after[s:e] for s, e in new]):
        start, end = _span(old, i, j, before)
        now, then = _span(new, k, m, after)
        edits.append(WordEdit(before[start:end], after[now:then], (which, start, end), (which, now, then)))
    return edits


def _differences(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Stretches ``old[i:j]`` that became ``new[k:m]``."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    too_long = len(left) * len(right) > LARGEST_COMPARISON
    if len(left) == len(right) and (too_long or not set(left) & set(right)):
        changed = [n for n, pair in enumerate(zip(left, right, strict=True)) if pair[0] != pair[1]]
        return [(head + n, head + n + 1, head + n, head + n + 1) for n in changed]
    if too_long:
        return [(head, head + len(left), head, head + len(right))]
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return [
        (head + i, head + j, head + k, head + m)
        for kind, i, j, k, m in matcher.get_opcodes()
        if kind != "equal"
    ]


def _span(words: Sequence[tuple[int, int]], first: int, last: int, text: str) -> tuple[int, int]:
    if first < last:
        return words[first][0], words[last - 1][1]
    place = words[first][0] if first < len(words) else len(text)
    return place, place
