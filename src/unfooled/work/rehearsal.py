"""A rehearsal: long work is prepared as it will be, a few inputs are tried, and nothing is kept.

>>> with rehearsing():
...     attack("runs/rsmi", limit=200)  # raises Rehearsed with what was measured

Inside, :func:`~unfooled.work.executor.make_executor` gives the :class:`Rehearser` below, and
:func:`~unfooled.storage.result_sets.choose_set` chooses a result set that is not written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from unfooled.work.executor import Piece, Spec

MOST = 8
"""Inputs that are tried, at most."""
AT_ONCE = 4
LONGEST = 10.0
"""Seconds after which no further input is tried."""


class Rehearsed(Exception):
    """Ends a rehearsal, with what was measured."""

    def __init__(self, left: int, tried: int, seconds: float, loading: float) -> None:
        super().__init__("This was a rehearsal.")
        self.left, self.tried, self.seconds, self.loading = left, tried, seconds, loading


@dataclass(frozen=True)
class Rehearser:
    """Tries the first inputs in this process, and stops the job."""

    in_process: ClassVar[bool] = True

    def run(
        self, spec: Spec, pieces: Iterator[Piece], *, count: int, name: Callable[[Any], str]
    ) -> Generator[Piece, None, None]:
        if not count:
            raise Rehearsed(0, 0, 0.0, 0.0)
        started = time.perf_counter()
        worker = spec.open(AT_ONCE)
        ready = time.perf_counter()

        def few() -> Iterator[Piece]:
            for number, piece in enumerate(pieces):
                if number == MOST or time.perf_counter() - ready > LONGEST:
                    return
                yield piece

        tried = sum(1 for _ in worker.run(few()))
        raise Rehearsed(count, tried, time.perf_counter() - ready, ready - started)
        yield from ()
