"""What the lexicon computes once and keeps: ``<cache>/lexicon/<key>/``, whole or absent.

A builder works in its own folder under the key's lock and the finished folder is renamed into place, so
two processes never compute the same thing and a reader never sees half of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from unfooled.assets import cache_dir
from unfooled.errors import AssetError


def kept(key: str, build: Callable[[Path], None]) -> Path:
    """The folder called ``key``, made by ``build(folder)`` if it is not there yet."""
    target = cache_dir() / "lexicon" / key
    if target.is_dir():
        return target
    try:
        return _made(target, build)
    except OSError as error:
        raise AssetError(
            f"{key} could not be written below {cache_dir()}: {error.strerror or error}. "
            "Set UNFOOLED_CACHE to a folder with room that you may write to."
        ) from error


def _made(target: Path, build: Callable[[Path], None]) -> Path:
    import shutil
    import tempfile

    from filelock import FileLock

    locks = cache_dir() / "locks"
    for folder in (locks, target.parent):
        folder.mkdir(parents=True, exist_ok=True)
    with FileLock(locks / f"lexicon-{target.name}.lock"):
        if target.is_dir():  # another process made it while this one waited
            return target
        for left in target.parent.glob(f"{target.name}~*"):  # by a killed process: we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=f"{target.name}~", dir=target.parent))
        try:
            work.chmod(0o755)
            build(work)
            os.replace(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return target
