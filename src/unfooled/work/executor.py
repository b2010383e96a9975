"""Who does the work of a job: this process, worker processes, or Ray actors.

Work is described by a *spec*, a dataclass that can be pickled. It says what is needed (a run folder, a
recipe, limits) and ``open()`` builds a worker from it, once per process. The executor changes no result.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from unfooled.errors import UsageError
from unfooled.settings import MOST_WORKERS, check_whole
from unfooled.storage.result_sets import rehearsal

Piece = tuple[int, Any]
"""An input with its place in the job, or a finished record with the place of its input."""


class Worker(Protocol):
    """Does the work; what it needs is loaded."""

    def run(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """(place, record) of each input as it is finished; a record can be written as JSON.

        Inputs may be taken ahead, as many as are worked on side by side.
        """
        ...


class Spec(Protocol):
    """Says what a worker needs; can be pickled, unless it is only opened in this process."""

    def open(self, at_once: int) -> Worker:
        """Load what is needed. ``at_once``: take no more inputs ahead than this, or others wait for them."""
        ...


class Executor(Protocol):
    """Runs the work of a job."""

    in_process: ClassVar[bool]
    """The spec is opened here: it need not be picklable."""

    def run(
        self, spec: Spec, pieces: Iterator[Piece], *, count: int, name: Callable[[Any], str]
    ) -> Generator[Piece, None, None]:
        """(place, record) of each of the ``count`` pieces, in any order.

        ``name`` says which input it is, in messages.
        """
        ...


@dataclass(frozen=True)
class Inline:
    """Does everything in this process."""

    in_process: ClassVar[bool] = True

    def run(
        self, spec: Spec, pieces: Iterator[Piece], *, count: int, name: Callable[[Any], str]
    ) -> Generator[Piece, None, None]:
        if count:
            yield from spec.open(count).run(pieces)


def make_executor(workers: int | None = None, ray: str | None = None) -> Executor:
    """Ray actors if ``ray`` names a cluster (or ``local``), else as many processes as asked for."""
    check_whole("--workers", workers, at_most=MOST_WORKERS)
    if rehearsal() is not None:
        from unfooled.work.rehearsal import Rehearser

        return Rehearser()
    if ray is not None:
        from unfooled.work.ray_executor import RayActors

        return RayActors(ray, workers)
    if workers is None or workers == 1:
        return Inline()
    from unfooled.work.processes import Processes

    return Processes(workers)


def fair_share(count: int, workers: int) -> int:
    """How many inputs a worker may take ahead: enough for full batches, so few that none waits at the end."""
    return max(1, count // (4 * workers))


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def packed(spec: Spec) -> bytes:
    """The pickled spec; what cannot travel is refused with the reason."""
    try:
        return pickle.dumps(spec)
    except Exception as error:  # whatever the objects inside raise when they are pickled
        raise UsageError(
            f"This cannot be sent to worker processes: {error}. Put functions and classes into a "
            "module that can be imported, name models by their folder, or leave out --workers and --ray."
        ) from error
