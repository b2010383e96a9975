"""The worker's side: build the worker from its spec, ask for inputs and send records, until told to stop.

The worker asks, the parent answers at once. So a worker that has several inputs in flight never runs dry, and
no more inputs travel than are worked on. Messages to the parent: ``("ready",)``, ``("ask", in the middle of
a stream?)``, ``("done", place, record)``, ``("failed", error, traceback)``. Answers: a list of pieces (an
empty one ends the stream: finish what is in flight), or None (stop).
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from unfooled.errors import UserError
from unfooled.work.executor import Piece, Spec

Message = tuple[Any, ...]


class ParentGone(Exception):
    """Nobody reads the records any more."""


def serve(
    opened: Callable[[], Spec], at_once: int, receive: Callable[[], Any], send: Callable[[Message], None]
) -> None:
    """Serve until told to stop; any error is sent, and ends it."""

    def asked(*, amid: bool) -> list[Piece] | None:
        send(("ask", amid))
        answer: list[Piece] | None = receive()
        return answer

    def stream(pieces: list[Piece] | None) -> Iterator[Piece]:
        while pieces:
            yield from pieces
            pieces = asked(amid=True)

    try:
        worker = opened().open(at_once)
        send(("ready",))
        while (first := asked(amid=False)) is not None:
            for place, record in worker.run(stream(first)):
                send(("done", place, record))
    except ParentGone:
        pass
    except Exception as error:
        send(("failed", _portable(error), traceback.format_exc()))


class WorkerTraceback(Exception):
    """Where an error came from, in the worker; shown as the cause of the error."""

    def __init__(self, text: str) -> None:
        super().__init__(f"\n{text}")


def _portable(error: Exception) -> Exception:
    """The error itself if it can travel, else one of the same kind with the same words."""
    try:
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            return error
    except Exception:
        pass
    if isinstance(error, UserError):
        told = UserError(str(error))
        told.exit_code = error.exit_code
        return told
    return RuntimeError(f"{type(error).__name__}: {error}")
