"""Several processes at once, and processes that die in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_index import CONTENT, Index, contents, manifest_of, pinned

from child_processes import start_python
from unfooled import assets
from unfooled.assets.download_bar import silent

SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tiny_index import manifest_of, pinned
from unfooled import assets
print(assets.path("tiny", manifest=manifest_of(pinned(Path({archive!r})))))
"""


@pytest.fixture
def start(cache: Path, index: Index, tmp_path: Path) -> Callable[[], subprocess.Popen[bytes]]:
    """Start another process that asks for the asset and prints its folder."""
    archive = str(tmp_path / "site" / "tiny-data-1.0.tar.gz")
    script = SCRIPT.format(tests=str(Path(__file__).parent), archive=archive)
    return lambda: start_python(script, stdout=subprocess.PIPE)


@pytest.mark.full
def test_processes_at_once_download_once_and_all_find_it(
    start: Callable[[], subprocess.Popen[bytes]], index: Index
) -> None:
    index.go_on.clear()
    processes = [start() for _ in range(3)]
    assert index.half_sent.wait(20)
    time.sleep(1.0)  # let the others reach the lock
    index.go_on.set()
    outputs = {process.communicate(timeout=30)[0].decode().strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(outputs) == 1
    assert contents(Path(outputs.pop())) == CONTENT
    assert index.downloads == 1


def interrupted(process: subprocess.Popen[bytes], index: Index, number: signal.Signals) -> None:
    """Send a signal while the archive is half there."""
    assert index.half_sent.wait(20)
    time.sleep(0.2)
    os.kill(process.pid, number)
    process.communicate(timeout=20)
    assert process.returncode == -number
    index.go_on.set()


@pytest.mark.full
def test_killed_process_leaves_nothing_placed_and_the_next_one_sweeps_up(
    start: Callable[[], subprocess.Popen[bytes]], index: Index, cache: Path, tmp_path: Path
) -> None:
    index.go_on.clear()
    interrupted(start(), index, signal.SIGKILL)
    manifest = manifest_of(pinned(tmp_path / "site" / "tiny-data-1.0.tar.gz"))
    left = list((cache / "staging").iterdir())
    assert len(left) == 1
    assert assets.cached("tiny", manifest=manifest) is None
    assert contents(assets.get("tiny", progress=silent, manifest=manifest)) == CONTENT
    assert list((cache / "staging").iterdir()) == []


@pytest.mark.full
def test_ctrl_c_leaves_nothing_behind(
    start: Callable[[], subprocess.Popen[bytes]], index: Index, cache: Path
) -> None:
    index.go_on.clear()
    interrupted(start(), index, signal.SIGINT)
    assert list((cache / "staging").iterdir()) == []
    assert not (cache / "assets").exists()


def test_leftovers_of_other_assets_are_swept_unless_in_use(cache: Path, index: Index, tmp_path: Path) -> None:
    from filelock import FileLock

    for name in ("idle~x", "busy~y"):
        (cache / "staging" / name).mkdir(parents=True)
    (cache / "locks").mkdir()
    manifest = manifest_of(pinned(tmp_path / "site" / "tiny-data-1.0.tar.gz"))
    with FileLock(cache / "locks" / "busy.lock"):
        assets.get("tiny", progress=silent, manifest=manifest)
    assert [folder.name for folder in (cache / "staging").iterdir()] == ["busy~y"]
