"""A child that a test starts can be interrupted, whatever handlers the test itself was started with."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator

import pytest

from child_processes import start_python

WAITS = "import time; print('ready', flush=True); time.sleep(60)"


@pytest.fixture
def ignored() -> Iterator[None]:
    """Signals as `nohup` and `&` in a script leave them."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("ignored")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_child_of_a_process_that_ignores_signals_does_not_ignore_them(number: signal.Signals) -> None:
    process = start_python(WAITS, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    _, message = process.communicate(timeout=20)
    assert process.returncode == -number
    assert (b"KeyboardInterrupt" in message) == (number == signal.SIGINT)
