"""Worker processes on this machine (``--workers N``).

Each is a fresh interpreter that builds its worker from the pickled spec; this process alone writes the
journal. A worker that dies is replaced and its inputs are done again. Workers do not see Ctrl-C, which this
process handles; when this process dies, a pipe that closes tells them to end.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, ClassVar

from unfooled.errors import UsageError
from unfooled.work.crew import attended
from unfooled.work.executor import Piece, Spec, cores, fair_share, packed
from unfooled.work.handout import Handout
from unfooled.work.serving import Message, ParentGone, serve

_GRACE = 5.0
"""Seconds that a worker has to end before it is killed."""
# The path comes first: with it the child finds the same modules as this process.
_START = (
    "import sys; from multiprocessing.connection import Connection; parent = Connection(int(sys.argv[1])); "
    "sys.path[:] = parent.recv(); from unfooled.work.processes import child; child(parent)"
)


@dataclass(frozen=True)
class Processes:
    """``workers`` processes; the cores are divided among them unless OMP_NUM_THREADS says otherwise."""

    workers: int
    in_process: ClassVar[bool] = False

    def run(
        self, spec: Spec, pieces: Iterator[Piece], *, count: int, name: Callable[[Any], str]
    ) -> Generator[Piece, None, None]:
        if os.name != "posix":
            raise UsageError("--workers needs Linux or macOS. Leave it out here, or use --ray local.")
        if not count:
            return
        size = min(self.workers, count)
        first = (packed(spec), fair_share(count, size))
        threads = max(1, cores() // size)
        handout = Handout(pieces, count=count, workers=size, name=name)
        yield from attended(handout, size, lambda: _Child(first, threads), _heard)


def _heard(crew: Sequence[_Child]) -> list[_Child]:
    readable = wait([one.pipe for one in crew], timeout=1)
    return [one for one in crew if one.pipe in readable or one.has_ended]


class _Child:
    """A worker process, as its parent sees it."""

    def __init__(self, first: tuple[bytes, int], threads: int) -> None:
        self.pipe, theirs = Pipe()
        # Set before torch is loaded: its thread pools are made once.
        environment = {"OMP_NUM_THREADS": str(threads), **os.environ, "TOKENIZERS_PARALLELISM": "false"}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno())],
                stdin=subprocess.PIPE,  # closes when this process ends, however it ends
                stdout=2,  # what a victim prints must not get between the results
                pass_fds=[theirs.fileno()],
                env=environment,
                start_new_session=True,  # Ctrl-C in a terminal goes to the parent alone
            )
        self.send(sys.path)
        self.send(first)

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def send(self, answer: Any) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # found out when its pipe is read
            self.pipe.send(answer)

    def received(self) -> Message | None:
        # A process that the worker started may hold its end of the pipe open.
        if self.has_ended and not self.pipe.poll():
            return None
        try:
            message: Message = self.pipe.recv()
        except (EOFError, OSError):
            return None
        return message

    def dismiss(self) -> None:
        assert self.process.stdin is not None
        self.pipe.close()
        self.process.stdin.close()
        self._exit_code()

    def ended(self) -> str:
        code = self._exit_code()
        self.dismiss()
        if code >= 0:
            return f"ended with exit code {code}"
        known = {one.value for one in signal.Signals}
        return f"was killed ({signal.Signals(-code).name if -code in known else f'signal {-code}'})"

    def _exit_code(self) -> int:
        try:
            return self.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def child(parent: Connection) -> None:
    """What a worker process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def receive() -> Any:
        try:
            return parent.recv()
        except (EOFError, OSError) as error:
            raise ParentGone from error

    def send(message: Message) -> None:
        try:
            parent.send(message)
        except OSError as error:
            raise ParentGone from error

    spec, at_once = parent.recv()
    serve(lambda: pickle.loads(spec), at_once, receive, send)
    # All records are sent. An interpreter that takes its modules down for seconds would keep the parent
    # waiting.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _end_with_parent() -> None:
    """Wait until the parent's end of stdin closes; work in progress is of no use to anyone then."""
    while os.read(0, 1):
        pass
    os._exit(0)
