"""Disks that are full or read-only: small file systems in memory, where a test may mount one.

Permissions do not bind root, so protected folders are mounted read-only too.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of this ``size`` at ``folder``; the test is skipped where none can be mounted."""
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={size}", "unfooled-test", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resize(folder: Path, size: str) -> None:
    """Somebody makes room."""
    _mount("-o", f"remount,size={size}", str(folder))


def protect(folder: Path, *, writable: bool = False) -> None:
    """Nothing can be written there any more, or again."""
    _mount("-o", f"remount,{'rw' if writable else 'ro'}", str(folder))


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if done.returncode:
        pytest.skip(f"this user may not mount a file system: {done.stderr.strip()}")
