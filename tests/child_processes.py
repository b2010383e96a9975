"""Child processes that tests send signals to, started with default signal handlers.

A shell starts background jobs with SIGINT ignored (`nohup`, `&` in a script). Children inherit that, and a
Python that starts with SIGINT ignored never raises KeyboardInterrupt. So the handlers are reset before the
command runs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

# Resets the handlers, then becomes the command: same process id, and no code between fork and exec, which is
# unsafe in a parent with threads.
_RESET = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
os.execvp(sys.argv[1], sys.argv[1:])
"""


def start(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    stdout: int | None = subprocess.DEVNULL,
    stderr: int | None = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start `command`; SIGINT, SIGTERM and SIGHUP do in it what they do by default."""
    reset = [sys.executable, "-I", "-S", "-c", _RESET]
    return subprocess.Popen([*reset, *command], cwd=cwd, env=env, stdout=stdout, stderr=stderr)


def start_python(
    code: str,
    *,
    cwd: Path | None = None,
    stdout: int | None = subprocess.DEVNULL,
    stderr: int | None = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a Python that runs `code`, with default signal handlers."""
    return start([sys.executable, "-c", code], cwd=cwd, stdout=stdout, stderr=stderr)


def wait_until(process: subprocess.Popen[bytes], reached: Callable[[], object], seconds: float = 120) -> None:
    """Wait until the child has come so far; it must not end before that."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert process.poll() is None, "the process ended before it could be stopped"
        assert time.monotonic() < deadline, f"the process has not come so far in {seconds:g} seconds"
        time.sleep(0.005)
