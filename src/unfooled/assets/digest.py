"""SHA-256 of a stream, a file or a folder, and the words for bytes that do not match.

A folder's digest is that of its sorted listing, one ``<sha256>  <path>`` line per file, so that it
changes with any name or byte below the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

CHUNK = 1 << 20


def copy(stream: IO[bytes], target: Path, limit: int) -> tuple[int, str]:
    """Write a stream to a new file; returns its size and SHA-256. Stops one piece past ``limit`` bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as out:
        while size <= limit and (chunk := stream.read(CHUNK)):
            size += len(chunk)
            digest.update(chunk)
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    return size, digest.hexdigest()


def of_file(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def of_listing(digests: Mapping[str, str]) -> str:
    """SHA-256 of a folder, given that of each file by its path below the folder."""
    lines = "".join(f"{digests[path]}  {path}\n" for path in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


def of_folder(folder: Path) -> str:
    """SHA-256 of a folder on disk."""
    files = (path for path in folder.rglob("*") if not path.is_dir())
    return of_listing({path.relative_to(folder).as_posix(): of_file(path) for path in files})


def mismatch(file: str, expected: str, got: str) -> str:
    """What to say of bytes that are not the pinned ones."""
    return f"{file} does not match its SHA-256.\n  expected {expected}\n  got      {got}"
