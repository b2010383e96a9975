"""The parent's side: hear the workers, hand out inputs, replace those that die."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from unfooled.work.executor import Piece
from unfooled.work.handout import WAIT, Handout
from unfooled.work.serving import Message, WorkerTraceback


class Member(Protocol):
    """A worker that was started, as its parent sees it."""

    def received(self) -> Message | None:
        """The next message; None if the worker is gone."""
        ...

    def send(self, answer: list[Piece] | None) -> None:
        """Send an answer; to a worker that is gone, nothing."""
        ...

    def ended(self) -> str:
        """How it ended, in words: «was killed (SIGKILL)»."""
        ...

    def dismiss(self) -> None:
        """End it now."""
        ...


M = TypeVar("M", bound=Member)


def attended(
    handout: Handout, size: int, hire: Callable[[], M], heard: Callable[[Sequence[M]], Sequence[M]]
) -> Iterator[Piece]:
    """(place, record) as they come from ``size`` workers.

    ``hire`` starts one; ``heard`` waits a while and gives those that have a message or are gone.
    """
    crew: list[M] = []
    started: set[M] = set()
    waiting: set[M] = set()

    def answer(one: M, *, amid: bool) -> None:
        given = handout.answer(one, amid=amid)
        if given == WAIT:
            waiting.add(one)
        else:
            waiting.discard(one)
            one.send(given)  # type: ignore[arg-type]

    try:
        for _ in range(size):
            crew.append(hire())
        while not handout.finished:
            for one in heard(crew):
                message = one.received()
                if message is None:
                    crew.remove(one)
                    waiting.discard(one)
                    handout.died(one, how=one.ended(), was_ready=one in started)
                    if not handout.finished:
                        crew.append(hire())
                elif message[0] == "done":
                    handout.done(one, message[1])
                    yield message[1], message[2]
                elif message[0] == "ask":
                    answer(one, amid=message[1])
                elif message[0] == "ready":
                    started.add(one)
                    handout.ready()
                else:
                    raise message[1] from WorkerTraceback(message[2])
            for one in list(waiting):
                answer(one, amid=False)
    finally:
        for one in crew:
            one.dismiss()
