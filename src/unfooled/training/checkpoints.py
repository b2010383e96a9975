"""Checkpoints that are whole or absent, whatever happens while one is written.

A checkpoint is written beside its place and renamed when everything is on the disk. ``checkpoint.json``,
written last, lists its files with sizes and checksums, and the other checkpoints that it needs: the best one
so far and, within an epoch, the one that the epoch began with. Training goes on from the newest checkpoint
that is whole and whose needs are whole.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from unfooled.errors import UserError
from unfooled.files import cannot_write, read_json, sync, write_error, write_json

LIST = "checkpoint.json"
_WRITING, _REMOVED = ".writing-", ".removed-"
_BLOCK = 1 << 20


def checkpoint_path(folder: Path, step: int) -> Path:
    return folder / f"checkpoint-{step}"


@contextmanager
def writing(
    folder: Path,
    step: int,
    needs: Collection[int] = (),
    *,
    first: bool = True,
    wait: Callable[[], None] = lambda: None,
) -> Iterator[Path]:
    """The folder to write the checkpoint of ``step`` into; it takes its place at the end of the block.

    Every process of a distributed training enters: ``first`` is true in one of them, and ``wait`` returns
    when all have called it. What cannot be written is told; the checkpoints that were there stay whole.
    """
    beside, place = folder / f"{_WRITING}{step}", checkpoint_path(folder, step)
    try:
        if first:
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir(parents=True)
        wait()
        yield beside
        wait()
        if first:
            for file in beside.iterdir():
                sync(file)
            files = {file.name: _described(file) for file in sorted(beside.iterdir())}
            write_json(beside / LIST, {"step": step, "needs": sorted(needs), "files": files})
            sync(beside)
            _remove(place)  # of a training that went on from an earlier one
            os.replace(beside, place)
            sync(folder)
        wait()
    except Exception as error:
        problem = cannot_write(beside, error) if _is_about_writing(error) else None
        if first:
            shutil.rmtree(beside, ignore_errors=True)
        if problem is None:
            raise
        raise UserError(
            f"The checkpoint of step {step} was not written; those before it are whole. {problem}"
        ) from error


def _is_about_writing(error: Exception) -> bool:
    # PyTorch says «[enforce fail at inline_container.cc] unexpected pos» and may not know the cause.
    return write_error(error) is not None or "inline_container" in str(error)


def last_checkpoint(
    folder: Path, *, processes: int = 1, tell: Callable[[str], None] = lambda _: None
) -> Path | None:
    """The newest usable checkpoint; ``tell`` hears which were passed over and why."""
    known: dict[int, str | None] = {}
    for step in sorted(_steps(folder), reverse=True):
        problem = _problem(folder, step, processes, known)
        if problem is None:
            return checkpoint_path(folder, step)
        tell(f"{checkpoint_path(folder, step)} is passed over: {problem}.")
    return None


def keep_only(folder: Path, steps: Collection[int]) -> None:
    """Remove all other checkpoints, and what killed processes left behind."""
    for step in _steps(folder) - set(steps):
        _remove(checkpoint_path(folder, step))
    for left in (*folder.glob(f"{_WRITING}*"), *folder.glob(f"{_REMOVED}*")):
        shutil.rmtree(left, ignore_errors=True)


def _remove(path: Path) -> None:
    """Renamed first: half a removed checkpoint must not look like one."""
    if path.is_dir():
        gone = path.with_name(f"{_REMOVED}{path.name}")
        shutil.rmtree(gone, ignore_errors=True)
        os.replace(path, gone)
        shutil.rmtree(gone, ignore_errors=True)


def _steps(folder: Path) -> set[int]:
    found = (re.fullmatch(r"checkpoint-(\d+)", path.name) for path in folder.glob("checkpoint-*"))
    return {int(match[1]) for match in found if match}


def _problem(folder: Path, step: int, processes: int, known: dict[int, str | None]) -> str | None:
    """What is wrong with a checkpoint or with one that it needs; None if nothing is."""
    if step not in known:
        path = checkpoint_path(folder, step)
        try:
            needs = _check(path, processes)
        except (UserError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            known[step] = str(error) if isinstance(error, UserError | ValueError) else f"{LIST} is damaged"
        else:
            known[step] = None
            missing = [other for other in needs if other >= step or _problem(folder, other, processes, known)]
            if missing:
                known[step] = f"it needs the checkpoint of step {missing[0]}, which is not whole"
    return known[step]


def _check(path: Path, processes: int) -> list[int]:
    """The steps of the checkpoints that a whole one needs; damage is a ValueError."""
    if not (path / LIST).is_file():
        raise ValueError(f"it has no {LIST}")
    listed = read_json(path / LIST)
    for name, described in listed["files"].items():
        if not (path / name).is_file():
            raise ValueError(f"{name} is missing")
        if _described(path / name) != described:
            raise ValueError(f"{name} is damaged")
    states = {name for name in listed["files"] if name.startswith("rng_state")}
    wanted = {"rng_state.pth"} if processes == 1 else {f"rng_state_{rank}.pth" for rank in range(processes)}
    if states != wanted:
        raise ValueError(f"it was written by {max(1, len(states))} processes, and now there are {processes}")
    return [int(step) for step in listed["needs"]]


def _described(path: Path) -> list[int]:
    """Size and checksum (CRC-32) of a file: damage is found, forgery is not."""
    size = total = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            size, total = size + len(block), zlib.crc32(block, total)
    return [size, total]
