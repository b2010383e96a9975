"""One process at a time works in a folder; a killed one blocks nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from child_processes import start_python
from unfooled.errors import UserError
from unfooled.storage.locks import alone

HOLD = """
import sys, time
from pathlib import Path
from unfooled.storage.locks import alone
with alone(Path({folder!r}), "training"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_second_is_refused_with_the_id_of_the_first_until_that_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = start_python(HOLD.format(folder=str(folder)), stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"held\n"
        for _ in range(2):
            with (
                pytest.raises(UserError, match=f"Another training.*process {process.pid}"),
                alone(folder, "training"),
            ):
                pass
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    with alone(folder, "training"):
        assert (folder / ".training.pid").read_text() == f"{os.getpid()}\n"
    assert [path.name for path in folder.iterdir()] == [".training.lock"]


def test_work_that_left_nothing_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name in ("there", "new"):
        with pytest.raises(UserError), alone(tmp_path / name, "training"):
            raise UserError("refused")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    with alone(tmp_path / "new", "training"):
        (tmp_path / "new/kept").write_text("made")
    assert (tmp_path / "new/kept").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with (
        pytest.raises(UserError, match=r"file/run.*choose another folder"),
        alone(tmp_path / "file/run", "training"),
    ):
        pass
