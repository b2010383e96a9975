"""Wrappers around an image task: images that are drawn anew in every epoch from those of the task inside."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from unfooled.data.images import keyed_draws as draws
from unfooled.data.images.image_rows import ImageData, ImageRows, LazyImages, Pixels, Places

_Redrawn = TypeVar("_Redrawn", bound="RedrawnImages")


class Wrapper(Protocol):
    """Settings of a wrapper, and what it makes of the images of one split."""

    @property
    def seed(self) -> int: ...

    def shape(self, inner: tuple[int, int, int]) -> tuple[int, int, int]:
        """The shape of its images, given that of the task inside; what does not fit is refused."""

    def described(self) -> str:
        """What its draws depend on, the same on every machine."""

    def left_out(self, channels: int) -> dict[str, int]:
        """What of its own it does not use, by reason, and how many."""

    def around(self, images: Pixels | LazyImages, keys: NDArray[np.uint64], split: str) -> LazyImages:
        """The images of one split, drawn by one key per row."""


@dataclass(frozen=True)
class RedrawnImages(ABC):
    """Images inside, one key per row, and the number of the access, or epoch."""

    images: Pixels | LazyImages
    keys: NDArray[np.uint64]
    access: int

    @property
    @abstractmethod
    def each(self) -> tuple[int, int, int]:
        """The shape of one image."""

    @abstractmethod
    def draw(self, images: Pixels, keys: NDArray[np.uint64]) -> Pixels:
        """A batch of images as the keys say."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.keys), *self.each)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, places: Places) -> Pixels:
        if isinstance(places, int | np.integer):
            return self[np.array([places])][0]
        keys = draws.mixed(self.keys[places], self.access)
        return self.draw(self.images[places], keys) if len(keys) else np.zeros((0, *self.each), np.uint8)

    def take(self: _Redrawn, places: Sequence[int]) -> _Redrawn:
        at = np.asarray(places, dtype=np.int64)
        inner = self.images[at] if isinstance(self.images, np.ndarray) else self.images.take(places)
        return replace(self, images=inner, keys=self.keys[at])

    def redrawn(self: _Redrawn, access: int) -> _Redrawn:
        inner = self.images if isinstance(self.images, np.ndarray) else self.images.redrawn(access)
        return replace(self, images=inner, access=access)


def wrap(data: ImageData, wrapper: Wrapper, name: str, *, seed: int) -> ImageData:
    """The task with a wrapper around it. Train and dev are drawn by ``seed``, test by the wrapper's own seed:
    models trained with different seeds meet the same test images."""
    shape = wrapper.shape(data.shape)
    digest = hashlib.sha256(f"{data.source} {wrapper.described()}".encode())

    def wrapped(rows: ImageRows, split: str) -> ImageRows:
        # Wrappers inside each other draw independently.
        stream = f"{type(wrapper).__name__} {name.count('(')} {split}"
        keys = draws.row_keys(wrapper.seed if split == "test" else seed, stream, rows.rows)
        images = wrapper.around(rows.images, keys, split)
        if isinstance(pool := getattr(images, "backgrounds", None), np.ndarray):
            digest.update(np.ascontiguousarray(pool).data)
        return replace(rows, images=images)

    train, dev, test = wrapped(data.train, "train"), wrapped(data.dev, "dev"), wrapped(data.test, "test")
    return replace(
        data,
        name=name,
        shape=shape,
        train=train,
        dev=dev,
        test=test,
        source=f"sha256:{digest.hexdigest()}",
        dropped={**data.dropped, **wrapper.left_out(shape[2])},
    )
