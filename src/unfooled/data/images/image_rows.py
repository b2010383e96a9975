"""Labelled images in three splits: 8-bit pixels, one shape for all, drawn or read when they are asked for.

Pixels are ``uint8`` arrays, rows × height × width × channels (1 or 3). They are an array in memory, or *lazy
images*: the files of a large folder, or a wrapper that draws an image anew in every epoch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unfooled.records.shapes.run_shapes import Conversion

Pixels: TypeAlias = NDArray[np.uint8]
Places: TypeAlias = "int | slice | Sequence[int] | NDArray[np.int64]"


class LazyImages(Protocol):
    """Images that are made when they are asked for; the same place gives the same image."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, height, width, channels."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: Places) -> Pixels:
        """One image, or a batch of them."""

    def take(self, places: Sequence[int]) -> LazyImages:
        """Those at these places, in that order."""

    def redrawn(self, access: int) -> LazyImages:
        """The images of another access, or epoch, if they are drawn at random; else these."""


@dataclass(frozen=True)
class ImageRows:
    """One split. ``names`` says in messages which image is meant; ``rows`` is its 1-based place in the
    source; ``keys`` are equal where two images are, whatever a wrapper does to them."""

    images: Pixels | LazyImages
    labels: NDArray[np.int64]
    names: Sequence[str] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    keys: Sequence[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: Sequence[int]) -> ImageRows:
        """The rows at these places, in that order."""
        at = np.asarray(places, dtype=np.int64)
        chosen = frozen(self.images[at]) if isinstance(self.images, np.ndarray) else self.images.take(places)
        return ImageRows(
            images=chosen,
            labels=self.labels[at],
            names=[self.names[place] for place in places],
            rows=self.rows[at],
            keys=[self.keys[place] for place in places],
        )

    def redrawn(self, access: int) -> ImageRows:
        """The same rows, drawn anew for an epoch or a repetition; images that are not random stay."""
        if isinstance(self.images, np.ndarray):
            return self
        return replace(self, images=self.images.redrawn(access))


@dataclass(frozen=True)
class ImageSplits:
    """What a source holds. A missing dev or test split is held out of train later."""

    name: str
    label_names: tuple[str, ...]
    train: ImageRows
    dev: ImageRows | None = None
    test: ImageRows | None = None
    conversion: Conversion = field(default_factory=Conversion)


@dataclass(frozen=True)
class ImageData:
    """The three splits of an image task. No image of one split occurs in another."""

    name: str
    """The task as it is named on the command line, with every setting."""
    label_names: tuple[str, ...]
    shape: tuple[int, int, int]
    """Height, width, channels."""
    train: ImageRows
    dev: ImageRows
    test: ImageRows
    source: str
    """A digest of every image and label of the source, and of the wrappers around it."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows left out, by reason."""
    conversion: Conversion = field(default_factory=Conversion)
    """The size and the channels that the settings of the task convert every file to, if they name any."""

    def sizes(self) -> dict[str, int]:
        return {"train": len(self.train), "dev": len(self.dev), "test": len(self.test)}


def rows_of(images: Pixels, labels: NDArray[np.integer], what: str) -> ImageRows:
    """Rows of an array in memory; ``what`` is said of each image in messages, before its number."""
    return ImageRows(
        images=frozen(images),
        labels=labels.astype(np.int64),
        names=[f"{what} image {row}" for row in range(1, len(labels) + 1)],
        rows=np.arange(1, len(labels) + 1),
        keys=[key_of(image) for image in images],
    )


def key_of(image: Pixels) -> str:
    """What two equal images share."""
    return hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=16).hexdigest()


def frozen(images: Pixels) -> Pixels:
    """The same array, which nobody can write to by mistake."""
    images.flags.writeable = False
    return images
