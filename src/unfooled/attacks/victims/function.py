"""A Python function as a victim: a list of texts in, one list of class probabilities per text out.

>>> victim = FunctionVictim(lambda texts: [[0.1, 0.9] for _ in texts], labels=["negative", "positive"])

The function gets ``str`` for single texts and ``(text, pair)`` for pairs. It is found by name too:
``package.module:function`` or ``path/file.py:function``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from unfooled.attacks.victim import Answer, Asked, Query
from unfooled.attacks.victims.scores import HARMLESS, BadAnswer, ScoreCheck, answers_of, one_each
from unfooled.errors import UsageError, UserError


class FunctionVictim:
    """Answers with what the function returns, checked.

    ``labels``: class names in the order of the scores; without them the classes are numbered, once the first
    answer has shown how many there are. ``logits``: the function returns logits, not probabilities.
    ``randomised``: the same text may get another answer the next time.
    """

    def __init__(
        self,
        function: Callable[[list[Any]], Any],
        *,
        labels: Sequence[str] | None = None,
        logits: bool = False,
        randomised: bool = False,
        batch_size: int = 256,
        spec: str = "",
    ) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}.")
        self.function = function
        self.traceable = _is_named(spec) if spec else _is_where_it_says(function)
        """Whether the name stands for this function in another process too."""
        self.labels = tuple(labels or ())
        self.logits = logits
        self.randomised = randomised
        self.batch_size = batch_size
        self.spec = spec or _name(function)
        self._check = ScoreCheck()

    def __repr__(self) -> str:
        return f"FunctionVictim({self.spec!r}, labels={self.labels!r})"

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        answers: list[Answer] = []
        for start in range(0, len(asked), self.batch_size):
            queries = [one.query for one in asked[start : start + self.batch_size]]
            answers.extend(answers_of(self._table(queries)))
        return answers

    def _table(self, queries: Sequence[Query]) -> np.ndarray:
        scores = self.function([query[0] if len(query) == 1 else query for query in queries])
        try:
            table = self._checked(scores, queries)
        except UserError as error:
            if one_each(scores, queries) and self._works(queries[0]):
                raise BadAnswer(str(error)) from error
            raise
        self.labels = self.labels or tuple(str(number) for number in range(table.shape[1]))
        return table

    def _checked(self, scores: object, queries: Sequence[Query]) -> np.ndarray:
        classes = len(self.labels) or None
        return self._check.table(scores, queries, victim=self.spec, classes=classes, logits=self.logits)

    def _works(self, query: Query) -> bool:
        """Whether another text gets a good answer: then a bad one is about its text."""
        another = (HARMLESS,) * len(query)
        try:
            self._checked(self.function([HARMLESS if len(query) == 1 else another]), [another])
        except Exception:
            return False
        return True

    def describe(self) -> dict[str, object]:
        """What it is, for the record of a run; the text of the file or module that holds it by its digest."""
        files = [path.read_bytes() for path in self._files()]
        parts = files if len(files) < 2 else [hashlib.sha256(text).digest() for text in files]
        return {
            "kind": "function",
            "spec": self.spec,
            "sha256": hashlib.sha256(b"".join(parts)).hexdigest() if parts else None,
            "logits": self.logits,
            "randomised": self.randomised,
        }

    def _files(self) -> list[Path]:
        """The file that the name points to, and the one with the function, if that is another."""
        place = self.spec.rpartition(":")[0]
        named = place if Path(place).is_file() else getattr(sys.modules.get(place), "__file__", None)
        if not named:
            return []
        found = [Path(file).resolve() for file in (named, _source_file(self.function)) if file]
        return [path for path in dict.fromkeys(found) if path.is_file()]


def find_object(spec: str) -> object:
    """What ``module:name`` or ``path/file.py:name`` stands for; the module is imported."""
    place, _, name = spec.rpartition(":")
    module = _from_file(Path(place)) if place.endswith(".py") else _from_module(place)
    try:
        return attrgetter(name)(module)
    except AttributeError as error:
        public = [known for known in vars(module) if not known.startswith("_")]
        raise UserError(
            f"There is no {name!r} in {place}. It has: {', '.join(public) or 'nothing'}."
        ) from error


def _from_file(path: Path) -> object:
    if not path.is_file():
        raise UserError(f"There is no file {path}. Name the Python file that holds it.")
    _also_search(path.parent)
    name = f"unfooled_victim_{path.stem}"
    made = importlib.util.spec_from_file_location(name, path)
    if made is None or made.loader is None:
        raise UserError(f"{path} cannot be imported. Name a Python file.")
    module = importlib.util.module_from_spec(made)
    sys.modules[name] = module
    try:
        made.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UserError(f"Importing {path} failed: {type(error).__name__}: {error}") from error
    return module


def _from_module(name: str) -> object:
    _also_search(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise UserError(f"Importing {name} failed: {error}. Install what it needs.") from error
        raise UserError(
            f"There is no module {name!r} here. Name a module that Python finds from {Path.cwd()}, or a "
            "file: path/file.py:function."
        ) from error
    except (Exception, SystemExit) as error:
        raise UserError(f"Importing {name} failed: {type(error).__name__}: {error}") from error


def _also_search(folder: Path) -> None:
    """Let the module find its neighbours; last, so that it hides nothing that is installed."""
    place = os.path.abspath(folder)
    if place not in sys.path:
        sys.path.append(place)


def _name(function: object) -> str:
    owner = getattr(function, "__self__", None)
    named = function if hasattr(function, "__qualname__") else type(function)
    where = type(owner).__module__ if owner is not None else getattr(named, "__module__", "")
    return f"{where}:{named.__qualname__}"


def _is_named(spec: str) -> bool:
    return "<" not in spec and not spec.startswith("__main__:")


def _is_where_it_says(function: object) -> bool:
    """Whether it is the function that its module has under its name: no lambda, method, notebook cell."""
    if not inspect.isroutine(function) or inspect.ismethod(function) or not _is_named(_name(function)):
        return False
    try:
        found = attrgetter(function.__qualname__)(sys.modules[function.__module__])
    except (AttributeError, KeyError):
        return False
    return found is function


def _source_file(function: Any) -> str | None:
    plain = inspect.unwrap(getattr(function, "__func__", function))
    try:
        return inspect.getsourcefile(plain if inspect.isroutine(plain) else type(plain))
    except TypeError:  # built in
        return None
