"""Which worker has which inputs, and what happens to them when it dies.

The inputs of a dead worker are done again, each by itself: if a worker dies again, it is known over which
input. One that has brought down two workers comes last, so that everything else is done before; the third
time ends the job with a message that names it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from unfooled.errors import UserError
from unfooled.work.executor import Piece

MOST_DEATHS = 3
MOST_PIECES = 8
"""Pieces in one answer."""
WAIT = "wait"
"""Nothing to do now; perhaps later, if another worker dies."""


class Handout:
    """The pieces of a job among its workers; a worker is known by any hashable name."""

    def __init__(
        self, pieces: Iterator[Piece], *, count: int, workers: int, name: Callable[[Any], str]
    ) -> None:
        self._fresh, self._left = pieces, count
        self._workers, self._name = workers, name
        self._alone: deque[Piece] = deque()
        self._last: deque[Piece] = deque()
        self._deaths: dict[int, int] = {}
        self._failed_starts = 0
        self._held: dict[object, dict[int, object]] = {}
        self._testing: set[object] = set()

    @property
    def finished(self) -> bool:
        return not (self._left or self._alone or self._last or any(self._held.values()))

    def ready(self) -> None:
        """A worker could be started."""
        self._failed_starts = 0

    def answer(self, worker: object, *, amid: bool) -> list[Piece] | str | None:
        """What a worker that asks gets: pieces, an empty list (amid a stream: it ends), None (stop), WAIT."""
        held = self._held.setdefault(worker, {})
        if amid and worker in self._testing:
            return []
        if not amid:
            self._testing.discard(worker)
        pieces: list[Piece] = []
        if self._alone and not amid:
            pieces = [self._alone.popleft()]
            self._testing.add(worker)
        elif self._left:
            size = max(1, min(MOST_PIECES, self._left // (8 * self._workers)))
            pieces = list(islice(self._fresh, size))
            self._left -= len(pieces)
        elif self._last and not amid and not any(self._held.values()):  # nobody else is at work
            pieces = [self._last.popleft()]
            self._testing.add(worker)
        held.update(pieces)
        if pieces or amid:
            return pieces
        return None if self.finished else WAIT

    def done(self, worker: object, place: int) -> None:
        del self._held[worker][place]

    def died(self, worker: object, *, how: str, was_ready: bool) -> None:
        """Take back what the worker had; ends the job if nothing comes of trying again."""
        pieces = self._held.pop(worker, {})
        if not was_ready:
            self._failed_starts += 1
            if self._failed_starts >= MOST_DEATHS:
                raise UserError(
                    f"{self._failed_starts} workers in a row could not start: the last one {how}. What they "
                    "wrote above may say why; perhaps the memory is too small for so many workers."
                )
        for place, item in pieces.items():
            self._deaths[place] = self._deaths.get(place, 0) + 1
            if self._deaths[place] >= MOST_DEATHS:
                raise UserError(
                    f"{MOST_DEATHS} workers died over the same input, {self._name(item)}: the last one "
                    f"{how}. What was finished is kept. Leave this input out, or give each worker more "
                    "memory (fewer workers), and run again."
                )
            (self._alone if self._deaths[place] == 1 else self._last).append((place, item))
        inputs = "1 unfinished input" if len(pieces) == 1 else f"{len(pieces)} unfinished inputs"
        print(f"A worker {how}. Another one does its {inputs}.", file=sys.stderr)
