"""Taking named members out of an archive, and nothing else.

Wheels are zip files, source distributions and npm packages are tar files, Debian packages are ``ar``
files with a tar inside; a zip file may itself come in pieces (``parts.py``). Nothing is installed or run.
An archive with an absolute or climbing name is refused as a whole; a named member must be a regular file
with the manifest's SHA-256, and reading stops at the manifest's size, so an archive bomb costs no more than
the file it replaces.
"""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from typing import IO

from unfooled.assets import digest
from unfooled.assets.manifest import ArchivePart, Asset, File, Source, SourceKind, is_safe
from unfooled.errors import AssetError

# What is in an archive: a way to open each regular file, None for links, devices and the like.
_Members = dict[str, Callable[[], IO[bytes]] | None]

_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    LZMAError,
    EOFError,
    NotImplementedError,  # a compression or zip version that Python does not read
    RuntimeError,  # an encrypted member
)


def require(archive: Path, asset: Asset, pinned: Source | ArchivePart) -> None:
    """Refuse an archive that does not have the manifest's SHA-256."""
    if (got := digest.of_file(archive)) != pinned.sha256:
        raise AssetError(f"{asset.name}: refused, {digest.mismatch(pinned.filename, pinned.sha256, got)}")


def extract(archive: Path, asset: Asset, source: Source, folder: Path) -> None:
    """Write the asset's files from ``archive`` into ``folder``, each checked against the manifest."""
    with opened(archive, asset, source.kind) as members:
        # In archive order, so that a compressed stream is not rewound for every file.
        order = {name: position for position, name in enumerate(members)}
        for file in sorted(asset.files, key=lambda file: order.get(source.member(file), -1)):
            take(members, asset, source, file, folder)


@contextmanager
def opened(archive: Path, asset: Asset, kind: SourceKind) -> Iterator[_Members]:
    """What the archive holds; an unsafe name in it, or an archive that cannot be read, is refused."""
    try:
        with _members(archive, kind) as members:
            for name in members:
                if not is_safe(name):
                    raise AssetError(f"{asset.name}: {archive.name} holds the unsafe path {name!r}; refused.")
            yield members
    except _BROKEN as error:
        raise AssetError(f"{asset.name}: {archive.name} cannot be read as an archive: {error}") from error


def opener_of(members: _Members, name: str, asset: Asset, archive: str) -> Callable[[], IO[bytes]]:
    """How to open one member; one that is missing or no regular file is refused."""
    opener = members.get(name)
    if opener is None:
        what = "not a regular file" if name in members else "missing"
        raise AssetError(f"{asset.name}: {name} is {what} in {archive}; refused.")
    return opener


def take(members: _Members, asset: Asset, source: Source, file: File, folder: Path) -> None:
    """Write one file of the manifest, or one folder of files, and check it."""
    start = source.member(file)
    wanted = [start] if file.count is None else [name for name in members if name.startswith(start + "/")]
    if file.count is not None and len(wanted) != file.count:
        raise AssetError(f"{asset.name}: {start} holds {len(wanted)} files instead of {file.count}; refused.")
    left, digests = file.size, {}
    for name in wanted:
        opener = opener_of(members, name, asset, source.filename or str(source))
        below = name[len(start) :]
        with opener() as stream:
            size, digests[below.lstrip("/")] = digest.copy(stream, Path(f"{folder / file.path}{below}"), left)
        left -= size
        if left < 0:
            raise AssetError(
                f"{asset.name}: {name} is larger than the manifest allows ({file.size} bytes); refused."
            )
    got = digests[""] if file.count is None else digest.of_listing(digests)
    if got != file.sha256:
        raise AssetError(f"{asset.name}: refused, {digest.mismatch(file.path, file.sha256, got)}")


@contextmanager
def _members(archive: Path, kind: SourceKind) -> Iterator[_Members]:
    if kind in ("wheel", "zip", "parts"):
        with zipfile.ZipFile(archive) as opened:
            yield {
                info.filename: _opener(opened.open, info) if _is_regular(info) else None
                for info in opened.infolist()
                if not info.is_dir()
            }
        return
    with archive.open("rb") as raw:
        stream = _debian_data(raw, archive.name) if kind == "debian" else raw
        with tarfile.open(fileobj=stream, mode="r:*") as tar:
            yield {
                info.name.removeprefix("./"): _opener(tar.extractfile, info) if info.isreg() else None
                for info in tar
                if not info.isdir()
            }


def _opener(open_member: Callable, info: zipfile.ZipInfo | tarfile.TarInfo) -> Callable[[], IO[bytes]]:
    return lambda: open_member(info)


def _is_regular(info: zipfile.ZipInfo) -> bool:
    """Zip files made outside Unix carry no mode; the others say what they hold."""
    return stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)


def _debian_data(stream: IO[bytes], name: str) -> IO[bytes]:
    """The ``data.tar`` of a Debian package: an ``ar`` archive of 60-byte headers and even-length bodies."""
    if stream.read(8) != b"!<arch>\n":
        raise AssetError(f"{name} is not a Debian package.")
    while len(header := stream.read(60)) == 60:
        size = int(header[48:58])
        if header.startswith(b"data.tar"):
            return io.BytesIO(stream.read(size))
        stream.seek(size + size % 2, io.SEEK_CUR)
    raise AssetError(f"{name} holds no data.tar.")
