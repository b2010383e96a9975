"""Predictions as a file, CSV or JSON lines: the columns of the input, then those of the answer.

Rows are written as they come. The file appears under its name when it is whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from unfooled.errors import UsageError
from unfooled.files import cannot_write, writable
from unfooled.records.prediction import Prediction
from unfooled.untrusted import csv_line

SUFFIXES = (".csv", ".jsonl")
OWN = (
    "answer",
    "score",
    "abstained",
    "refused",
    "leader",
    "votes",
    "masked_words",
    "anchored_words",
    "forwards",
    "truncated",
)


class PredictionFile:
    """An open file of predictions; see :func:`prediction_file`."""

    def __init__(self, file: IO[str], *, csv: bool, columns: Sequence[str], labels: Sequence[str]) -> None:
        self._file, self._csv, self._columns = file, csv, list(columns)
        own = [*OWN, *(f"score_{label}" for label in labels)]
        # A column of the input keeps its name.
        self._own = {name: f"predicted_{name}" if name in columns else name for name in own}
        if csv:
            file.write(csv_line([*self._columns, *self._own.values()]))

    def write(self, cells: Mapping[str, object], answer: Prediction) -> None:
        """One row: the cells of the input, and its answer."""
        told: dict[str, object] = {
            "answer": answer.label,
            "score": answer.scores.get(answer.leader or ""),
            "abstained": answer.abstained,
            "refused": answer.refused or None,
            "leader": answer.leader,
            "votes": list(answer.votes),
            "masked_words": list(answer.masked_words),
            "anchored_words": list(answer.anchored_words),
            "forwards": answer.forwards,
            "truncated": answer.truncated,
            **{f"score_{label}": score for label, score in answer.scores.items()},
        }
        if self._csv:
            passed = [_plain(cells.get(name)) for name in self._columns]
            self._file.write(writable(csv_line([*passed, *(_plain(told.get(name)) for name in self._own)])))
        else:
            row = {**cells, **{shown: told.get(name) for name, shown in self._own.items()}}
            self._file.write(writable(json.dumps(row, ensure_ascii=False, default=str)) + "\n")


@contextmanager
def prediction_file(path: Path, columns: Sequence[str], labels: Sequence[str]) -> Iterator[PredictionFile]:
    """A file to write predictions to; if the work fails, nothing is left of it and an older file stays."""
    check_suffix(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="") as file:
            yield PredictionFile(file, csv=path.suffix.lower() == ".csv", columns=columns, labels=labels)
        os.replace(beside, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):  # a protected disk refuses even to remove what is not there
            beside.unlink(missing_ok=True)


def check_suffix(path: Path) -> None:
    """Refuse a name whose ending is no format."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"--out {writable(path)}: the name must end in {' or '.join(SUFFIXES)}, which says the format."
        )
    if path.is_dir():
        raise UsageError(f"--out {writable(path)} is a folder. Give the name of a file.")


def _plain(value: object) -> object:
    """A cell of a CSV file: lists and objects as JSON, nothing for nothing."""
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str) if value else None
    return value
