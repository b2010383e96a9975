"""Children that a test starts: their signal handlers, and what a forked one has of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from child_processes import start_python
from warm_processes import start_warm

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


TOLD = """
import json, os, random, sys, __main__
print(json.dumps([sys.argv, os.getcwd(), os.environ["GIVEN"], random.random(), __name__, x_of_main()]))
print("torch" in sys.modules, file=sys.stderr)
sys.exit(3)
"""


@pytest.mark.full
def test_warm_child_has_its_own_arguments_folder_environment_streams_and_exit_code(tmp_path: Path) -> None:
    code = f"def x_of_main(): return 'x' in vars(__main__) or __main__.x_of_main.__module__\n{TOLD}"
    (tmp_path / "program.py").write_text(code)
    env = {**os.environ, "GIVEN": "by the test"}
    drawn = []
    for arguments, shown in (
        (["-c", code, "one"], ["-c", "one"]),
        (["program.py", "two"], ["program.py", "two"]),
        (["-m", "program", "three"], [str(tmp_path / "program.py"), "three"]),
    ):
        process = start_warm(arguments, cwd=tmp_path, env=env)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stderr) == (3, b"True\n")
        argv, folder, given, number, name, main = json.loads(stdout)
        assert (argv, folder, given) == (shown, str(tmp_path), "by the test")
        assert name == main == "__main__"
        drawn.append(number)
    assert len(set(drawn)) == 3, "random numbers are not those of the other children"


@pytest.mark.full
@pytest.mark.usefixtures("ignored")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_warm_child_hears_signals_and_its_end_is_told(number: signal.Signals, tmp_path: Path) -> None:
    process = start_warm(["-c", "open('ready', 'w'); import time; time.sleep(60)"], cwd=tmp_path)
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(number)
    _, message = process.communicate(timeout=20)
    assert process.returncode == process.poll() == process.wait() == -number
    assert (b"KeyboardInterrupt" in message) == (number == signal.SIGINT)
