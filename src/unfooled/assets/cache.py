"""The cache on disk: where an asset lives, whether it is whole, and how it gets there in one step.

``<cache>/assets/<name>-<hash>/`` holds the files of one asset. A fetch works in its own folder below
``<cache>/staging/`` under the asset's lock and renames the finished folder into place, so a reader sees
all of an asset or none of it, whatever is interrupted. Folders left by a killed process are removed
by the next fetch. Only the checked parts of an archive that comes in several wait in
``<cache>/parts/<name>-<hash>/`` until the asset is placed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from unfooled.assets import digest
from unfooled.assets.download_bar import readable
from unfooled.assets.manifest import Asset, File
from unfooled.errors import AssetError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class Verification:
    """What re-reading every file of an asset found. ``problems`` is empty exactly when ``ok``."""

    name: str
    folder: Path | None
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


def cache_dir() -> Path:
    """``UNFOOLED_CACHE``, else ``XDG_CACHE_HOME/unfooled``, else ``~/.cache/unfooled``."""
    if own := os.environ.get("UNFOOLED_CACHE"):
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "unfooled"


def folder_of(asset: Asset) -> Path:
    """Where the asset is, or will be."""
    return cache_dir() / "assets" / asset.key


def parts_of(asset: Asset) -> Path:
    """Where the parts of its archive wait for the others."""
    return cache_dir() / "parts" / asset.key


def damage(asset: Asset) -> str | None:
    """The first file that is missing or has the wrong size, in words; ``None`` if there is none."""
    folder = folder_of(asset)
    for file in asset.files:
        try:
            size, count = _measure(folder / file.path, file)
        except OSError:
            return f"{file.path} is missing"
        if count != file.count:
            return f"{file.path} holds {count} files instead of {file.count}"
        if size != file.size:
            return f"{file.path} has {size} bytes instead of {file.size}"
    return None


def _measure(path: Path, file: File) -> tuple[int, int | None]:
    if file.count is None:
        return path.stat().st_size, None
    sizes = [found.stat().st_size for found in path.rglob("*") if not found.is_dir()]
    return sum(sizes), len(sizes)


def check(asset: Asset) -> Verification:
    """Re-hash every file of a placed asset and look for files that do not belong to it."""
    folder = folder_of(asset)
    if not folder.is_dir():
        return Verification(asset.name, None, ("not downloaded",))
    problems = []
    for file in asset.files:
        hash_of = digest.of_file if file.count is None else digest.of_folder
        try:
            got = hash_of(folder / file.path)
        except OSError as error:
            problems.append(f"{file.path} cannot be read: {error.strerror}")
            continue
        if got != file.sha256:
            problems.append(digest.mismatch(file.path, file.sha256, got))
    files = {folder / file.path for file in asset.files if file.count is None}
    folders = {folder / file.path for file in asset.files if file.count is not None}
    for path in sorted(folder.rglob("*")):
        if not path.is_dir() and path not in files and folders.isdisjoint(path.parents):
            problems.append(f"{path.relative_to(folder).as_posix()} does not belong to the asset")
    return Verification(asset.name, folder, tuple(problems))


@contextmanager
def locked(asset: Asset) -> Iterator[None]:
    """Hold the asset's lock. Another process waits here; a killed one lets go by itself."""
    from filelock import FileLock

    with _disk_errors(asset):
        folder = cache_dir() / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{asset.name}.lock")
        try:
            lock.acquire()
        except NotImplementedError as error:
            raise AssetError(
                f"The file system of {cache_dir()} has no file locks. Set UNFOOLED_CACHE to a local folder."
            ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def staging(asset: Asset) -> Iterator[Path]:
    """An empty folder on the cache's own disk, gone afterwards. Call with the lock held."""
    import shutil
    import tempfile

    with _disk_errors(asset):
        base = cache_dir() / "staging"
        base.mkdir(parents=True, exist_ok=True)
        _sweep(base, asset)
        needed = asset.size + max(source.working_size for source in asset.sources)
        if (free := shutil.disk_usage(base).free) < needed:
            raise AssetError(
                f"{asset.name} needs {readable(needed)} while it is fetched, but {cache_dir()} has "
                f"{readable(free)} free. Free some space or set UNFOOLED_CACHE to a folder on another disk."
            )
        folder = Path(tempfile.mkdtemp(prefix=f"{asset.name}~", dir=base))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def place(asset: Asset, finished: Path) -> Path:
    """Move a finished folder into the cache, putting a damaged one with the same name aside first."""
    import shutil

    target = folder_of(asset)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        os.replace(target, finished.with_name("replaced"))
    os.replace(finished, target)
    shutil.rmtree(parts_of(asset), ignore_errors=True)
    return target


def _sweep(base: Path, asset: Asset) -> None:
    """Remove what killed processes left. A folder whose asset is locked elsewhere is in use."""
    import shutil

    from filelock import FileLock, Timeout

    for folder in base.iterdir():
        owner = folder.name.partition("~")[0]
        if owner == asset.name:
            shutil.rmtree(folder, ignore_errors=True)
            continue
        try:
            with FileLock(cache_dir() / "locks" / f"{owner}.lock", timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
        except Timeout:
            continue


@contextmanager
def _disk_errors(asset: Asset) -> Iterator[None]:
    """Say what a failing disk means and what to do about it."""
    try:
        yield
    except OSError as error:
        what = "is full" if error.errno in _FULL else f"cannot be written ({error.strerror or error})"
        raise AssetError(
            f"{asset.name} could not be placed: the cache {cache_dir()} {what}. "
            "Set UNFOOLED_CACHE to a folder with room that you may write to."
        ) from error
