"""Where a file lies in the folder of an asset."""

from __future__ import annotations

from pathlib import Path

from unfooled.errors import AssetError


def find(folder: Path, name: str) -> Path:
    """The one file called ``name`` anywhere under ``folder``."""
    for path in sorted(folder.rglob(name)):
        return path
    raise AssetError(f"{folder} holds no {name}. Delete the folder to fetch the asset again.")
