"""Ctrl-C while libraries are imported, and a stdout that is closed, full or no longer read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from child_processes import start_python

INTERRUPT = """
import os, signal, sys

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Hook())
sys.argv = ["unfooled", *{arguments!r}]
from unfooled.cli import main
main()
"""


def interrupted(module: str, *arguments: str) -> tuple[int, str]:
    """The exit code and stderr of a command that is interrupted when it imports ``module``."""
    process = start_python(INTERRUPT.format(module=module, arguments=arguments))
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors.decode()


@pytest.mark.parametrize("module", ["unfooled.cli.commands", "typer", "numpy", "numpy._core.multiarray"])
def test_ctrl_c_while_the_commands_are_imported_ends_without_a_word(module: str) -> None:
    assert interrupted(module, "--version") == (-signal.SIGINT, "")


@pytest.mark.full
@pytest.mark.parametrize("module", ["torch", "transformers", "unfooled.api.train"])
def test_ctrl_c_while_a_command_imports_its_libraries_ends_with_a_message(
    module: str, tmp_path: Path
) -> None:
    code, errors = interrupted(module, "train", "--task", "spam", "--out", str(tmp_path / "run"))
    assert (code, errors.splitlines()[-1:]) == (130, ["Interrupted. Run the same command again to go on."])
    assert "Traceback" not in errors


LISTED = [sys.executable, "-m", "unfooled", "train", "--list-tasks"]


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_stdout_is_told(more: list[str]) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*LISTED, *more], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: Cannot write to stdout: No space left on device.")
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_are_no_reason_for_a_traceback(closed: str, tmp_path: Path) -> None:
    command = f"exec {' '.join(LISTED)} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == (1 if closed.startswith(">") else 0)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    if closed == ">&-":
        assert "Cannot write to stdout" in done.stderr


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_that_goes_away_ends_the_command_quietly(more: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*LISTED, *more], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")
