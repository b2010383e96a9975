"""Reading what TextAttack logged (``textattack attack --log-to-csv``): every row is checked.

Its marks (``[[word]]``, or ``<font …>`` in HTML style) are taken off, and what changed is found by comparing
the texts.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unfooled.errors import DataError
from unfooled.files import check_not_pipe
from unfooled.records.textattack_log import RESULTS, TextAttackResults, TextAttackRow, word_edits

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


"""Words times words; texts that differ in length over a longer stretch are shown as changed throughout it."""


_KEY = re.compile(
    r"(?:^|\n)(?:\[\[\[\[([^\[\]\n]+)\]\]\]\]|(?:<font color = \w+>){2}([^<\n]+)(?:</font>){2}): "
)


_MARK = re.compile(r"\[\[|\]\]|<font color = \w+>|</font>")


def read_textattack_csv(path: str | Path) -> TextAttackResults:
    """The results in a CSV file written by TextAttack; anything else is refused by file and row."""
    file = Path(path)
    check_not_pipe(file)
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
