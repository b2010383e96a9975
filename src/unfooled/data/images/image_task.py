"""What a named image task is: its classes, its asset, and how the asset's files become rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from unfooled.data.images.image_rows import ImageSplits


@dataclass(frozen=True)
class ImageTask:
    """``read`` turns the folder of the asset into rows; a task without an asset gets None."""

    name: str
    description: str
    labels: tuple[str, ...]
    read: Callable[[Path | None], ImageSplits] = field(repr=False, compare=False)
    asset: str | None = None
    """The asset with its files. The user's own files of its kind are named in brackets: ``mnist(FOLDER)``."""
    kind: str = "image"
