"""P2's CelebA setting as a wrapper: black padding on every side, then a random crop of the old size.

«Adaptive randomized smoothing», §4: the larger the padding s, the further the image may be from the centre.
Redrawn at every access, in the test too.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass

import numpy as np
from numpy.typing import NDArray

from unfooled.data.images import keyed_draws as draws
from unfooled.data.images.image_rows import LazyImages, Pixels
from unfooled.data.images.wrapping import RedrawnImages
from unfooled.errors import UsageError
from unfooled.settings import LARGEST_SEED, setting


@dataclass(frozen=True)
class Crop:
    """A random crop of the padded image, of the image's own size."""

    padding: int = setting(MISSING, "Black pixels on every side (s)", at_least=1, at_most=1024)
    seed: int = setting(0, "Seed of the test's draws", at_least=0, at_most=LARGEST_SEED)

    def shape(self, inner: tuple[int, int, int]) -> tuple[int, int, int]:
        if self.padding >= min(inner[:2]):
            raise UsageError(
                f"crop: padding {self.padding} may push images of {inner[1]} × {inner[0]} pixels out of "
                f"sight. Give at most {min(inner[:2]) - 1}."
            )
        return inner

    def left_out(self, channels: int) -> dict[str, int]:
        return {}

    def described(self) -> str:
        return f"crop {self.padding} {self.seed}"

    def around(self, images: Pixels | LazyImages, keys: NDArray[np.uint64], split: str) -> LazyImages:
        return Cropped(images, keys, 0, self)


@dataclass(frozen=True)
class Cropped(RedrawnImages):
    """Crops, cut when they are asked for."""

    settings: Crop

    @property
    def each(self) -> tuple[int, int, int]:
        return self.images.shape[1], self.images.shape[2], self.images.shape[3]

    def draw(self, images: Pixels, keys: NDArray[np.uint64]) -> Pixels:
        side = self.settings.padding
        padded = np.pad(images, ((0, 0), (side, side), (side, side), (0, 0)))
        height, width = images.shape[1:3]
        tops, lefts = (draws.below(keys, draw, 2 * side + 1).tolist() for draw in (0, 1))
        cut = [
            image[top : top + height, left : left + width]
            for image, top, left in zip(padded, tops, lefts, strict=True)
        ]
        return np.stack(cut)
