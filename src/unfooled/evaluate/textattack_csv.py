"""Results that TextAttack logged (``textattack attack --log-to-csv``), read, checked and summed up.

Its marks (``[[word]]``, or ``<font …>`` in HTML style) are taken off, and what changed is found by comparing
the texts. Counting follows TextAttack: skipped inputs were wrong without an attack, so they count against
both accuracies and are neither attacked nor asked further.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal, get_args

from unfooled.errors import DataError
from unfooled.evaluate.intervals import rate

Result = Literal["Successful", "Failed", "Skipped"]
RESULTS: tuple[str, ...] = get_args(Result)
COLUMNS = (
    "original_text",
    "perturbed_text",
    "original_score",
    "perturbed_score",
    "original_output",
    "perturbed_output",
    "ground_truth_output",
    "num_queries",
    "result_type",
)
REMEDY = "Log the attack again with `textattack attack --log-to-csv FILE`."
LONGEST_FIELD = 1 << 30
LARGEST_COMPARISON = 1_000_000
"""Words times words; texts that differ in length over a longer stretch are shown as changed throughout it."""

_KEY = re.compile(
    r"(?:^|\n)(?:\[\[\[\[([^\[\]\n]+)\]\]\]\]|(?:<font color = \w+>){2}([^<\n]+)(?:</font>){2}): "
)
_MARK = re.compile(r"\[\[|\]\]|<font color = \w+>|</font>")
_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Edit:
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
    result: Result
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class TextAttackResults:
    """All inputs of one file."""

    file: str
    rows: tuple[TextAttackRow, ...]

    @property
    def name(self) -> str:
        return Path(self.file).stem

    def count(self, result: Result) -> int:
        return sum(row.result == result for row in self.rows)

    def summary(self) -> dict[str, Any]:
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


def read_textattack_csv(path: str | Path) -> TextAttackResults:
    """The results in a CSV file written by TextAttack; anything else is refused by file and row."""
    file = Path(path)
    limit = csv.field_size_limit(LONGEST_FIELD)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                raise DataError(
                    f"{file} is not a file of TextAttack's results: it has no column {missing[0]!r}. {REMEDY}"
                )
            rows = tuple(_row(file, number, values) for number, values in enumerate(reader, start=1))
    except OSError as error:
        raise DataError(f"Cannot read {file}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file} is not UTF-8 text ({error.reason} at byte {error.start}). {REMEDY}"
        ) from error
    except csv.Error as error:
        raise DataError(
            f"{file} is not a whole CSV file: line {reader.line_num}: {error}. {REMEDY}"
        ) from error
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise DataError(f"{file} has no rows: the attack logged no result. {REMEDY}")
    return TextAttackResults(str(file), rows)


def _row(file: Path, number: int, values: Mapping[Any, Any]) -> TextAttackRow:
    def refuse(what: str) -> DataError:
        return DataError(f"{file}, row {number}: {what}. {REMEDY}")

    if None in values or None in values.values():
        raise refuse("it has more or fewer fields than the header; the file may be cut off")
    result = values["result_type"]
    if result == "Maximized":
        raise refuse("'Maximized' comes from a goal without success; log an attack on classification")
    if result not in RESULTS:
        raise refuse(f"the result_type is {result!r}, not one of {', '.join(RESULTS)}")
    queries = _number(values["num_queries"])
    if queries is None or queries < 0 or not queries.is_integer():
        raise refuse(f"num_queries is {values['num_queries']!r}, not a whole number")
    scores = [_number(values[name]) for name in ("original_score", "perturbed_score")]
    if scores[0] is None or scores[1] is None:
        raise refuse(
            f"the scores {values['original_score']!r} and {values['perturbed_score']!r} are not numbers"
        )
    wrong = not _same(values["original_output"], values["ground_truth_output"])
    if wrong != (result == "Skipped"):
        what = "the answer without attack is " + ("wrong" if wrong else "right")
        raise refuse(
            f"it is {result} although {what}; only untargeted attacks on classifiers can be summed up"
        )
    original, perturbed = _texts(values["original_text"]), _texts(values["perturbed_text"])
    if len(original) != len(perturbed):
        raise refuse("one text is a pair and the other is not")
    return TextAttackRow(
        row=number,
        original=original,
        perturbed=perturbed,
        original_score=scores[0],
        perturbed_score=scores[1],
        original_output=values["original_output"],
        perturbed_output=values["perturbed_output"],
        truth=values["ground_truth_output"],
        queries=int(queries),
        result=result,
        edits=tuple(
            edit
            for which, texts in enumerate(zip(original, perturbed, strict=True))
            for edit in word_edits(which, *texts)
        ),
    )


def _texts(field: str) -> tuple[str, ...]:
    """The text without marks; for pairs ``[[[[Premise]]]]: …<SPLIT>[[[[Hypothesis]]]]: …`` its texts."""
    field = field.replace("<SPLIT>", "\n")
    keys = list(_KEY.finditer(field))
    if len(keys) < 2 or keys[0].start() != 0:
        return (_MARK.sub("", field),)
    ends = [key.start() for key in keys[1:]] + [len(field)]
    return tuple(_MARK.sub("", field[key.end() : end]) for key, end in zip(keys, ends, strict=True))


def word_edits(which: int, before: str, after: str) -> list[Edit]:
    """The stretches of words in which two texts differ; ``which`` says which text of a pair they are."""
    old, new = ([match.span() for match in _WORD.finditer(text)] for text in (before, after))
    edits = []
    for i, j, k, m in _differences([before[s:e] for s, e in old], [after[s:e] for s, e in new]):
        start, end = _span(old, i, j, before)
        now, then = _span(new, k, m, after)
        edits.append(Edit(before[start:end], after[now:then], (which, start, end), (which, now, then)))
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


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _same(left: str, right: str) -> bool:
    """Class numbers are the same however they are written (1, 1.0)."""
    numbers = _number(left), _number(right)
    return left == right if None in numbers else numbers[0] == numbers[1]
