"""Child processes that begin with torch, transformers and the commands imported.

Those imports take five seconds of processor time, and many tests start a child only to kill it. So each test
process starts one Python that imports them, before any pass of a model, and forks it for every child. The
child then has its own arguments, folder, environment, streams, default signal handlers and random numbers.

Two things are not those of a fresh Python: what is imported, and the order of sets of strings. A test of
either, and a test that compares two processes, uses ``child_processes.start`` for at least one.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy

_IMPORTED = (
    "scipy.stats",
    "torch.utils.tensorboard",
    "unfooled.cli.commands",
    "unfooled.api.attack",
    "unfooled.api.certify",
    "unfooled.api.repeat",
    "unfooled.api.train",
)


class WarmProcess:
    """A child, with what tests use of ``subprocess.Popen``; its output is kept until it has ended."""

    def __init__(self, monitor: socket.socket, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self._monitor, self._shown = monitor, (stdout, stderr)
        self.returncode: int | None = None
        self.pid = self._told()

    def _told(self) -> int:
        number = self._monitor.recv(4)
        assert len(number) == 4, "the process that forks the children has ended"
        return int.from_bytes(number, "big", signed=True)

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._monitor], [], [], 0)[0]:
            self.returncode = self._told()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._monitor], [], [], timeout)[0]:
                raise TimeoutError(f"process {self.pid} has not ended in {timeout:g} seconds")
            self.returncode = self._told()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait; what the process wrote to stdout and stderr."""
        self.wait(timeout)
        for file in self._shown:
            file.seek(0)
        stdout, stderr = (file.read() for file in self._shown)
        return stdout, stderr

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start_warm(
    arguments: Sequence[str], *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> WarmProcess:
    """Start a Python with these arguments: ``-c CODE``, ``-m MODULE …`` or ``FILE …``."""
    asked = {"arguments": list(arguments), "cwd": str(cwd or Path.cwd()), "env": env or dict(os.environ)}
    stdout, stderr = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 - read when the child has ended
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as request, theirs:
        request.write(json.dumps(asked).encode())
        request.seek(0)
        files = [file.fileno() for file in (request, stdout, stderr, theirs)]
        socket.send_fds(_server(), [b"!"], files)
        return WarmProcess(ours, stdout, stderr)


@functools.cache
def _server() -> socket.socket:
    """The Python that forks; it ends when this process closes the socket, at its own end."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, __file__, str(theirs.fileno())]
        subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    return ours


def _serve(requests: socket.socket) -> list[str]:
    """Fork for every request; returns, with the arguments, in each of the children."""
    while True:
        sign, files, _, _ = socket.recv_fds(requests, 1, 4)
        if not sign:
            os._exit(0)
        if os.fork() == 0:
            return _child(requests, files)
        for file in files:
            os.close(file)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _child(requests: socket.socket, files: list[int]) -> list[str]:
    """Fork again: the parent tells the test the process id and the exit code, the child returns."""
    requests.close()
    request, stdout, stderr, monitor = files
    child = os.fork()
    if child:
        for file in (request, stdout, stderr):
            os.close(file)
        os.write(monitor, child.to_bytes(4, "big"))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(monitor, code.to_bytes(4, "big", signed=True))
        os._exit(0)
    os.close(monitor)
    with open(request, encoding="utf-8") as file:
        asked = json.load(file)
    for place, given in ((1, stdout), (2, stderr)):
        os.dup2(given, place)
        os.close(given)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    numpy.random.seed()
    sys.path[:0] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    arguments: list[str] = asked["arguments"]
    return arguments


def _run(arguments: list[str]) -> None:
    """What Python does with its arguments."""
    kind, *more = arguments
    if kind == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = more
        runpy.run_module(more[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *more[1:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(more[0], "<string>", "exec"), vars(main))
    else:
        sys.path.insert(0, str(Path(kind).parent))
        sys.argv = arguments
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # a training searches memory for garbage
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is for pytest
    sys.path.pop(0)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    _run(_serve(socket.socket(fileno=int(sys.argv[1]))))
