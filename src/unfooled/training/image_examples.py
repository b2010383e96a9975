"""Images one by one, drawn or read when they are asked for, and changed at random in every epoch.

Changes are keyed by (seed, epoch, example): a training that goes on makes the same ones, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import torch
from torch import Tensor
from torch.nn import functional as F

from unfooled.data.images import ImageRows
from unfooled.models import EncodedImage, mix

SHIFT = 4
"""Pixels that an image of 32 is shifted by, at most (He et al. 2016); smaller ones by less."""


@dataclass(frozen=True)
class Augmentation:
    """How images are changed at random."""

    kinds: tuple[str, ...]
    seed: int

    def __call__(self, image: Tensor, epoch: int, place: int) -> Tensor:
        """A changed copy of an image ``(height, width, channels)``."""
        generator = torch.Generator().manual_seed(mix(self.seed, epoch, place))
        across, down, mirrored = torch.rand(3, generator=generator).tolist()
        if "flip" in self.kinds and mirrored < 0.5:
            image = image.flip(1)
        if "crop" in self.kinds:
            height, width = image.shape[:2]
            shift = max(1, min(SHIFT, min(height, width) // 8))
            padded = F.pad(image, (0, 0, shift, shift, shift, shift))
            top, left = int(down * (2 * shift + 1)), int(across * (2 * shift + 1))
            image = padded[top : top + height, left : left + width]
        return image


@dataclass(frozen=True)
class ImageExamples(Sequence[EncodedImage]):
    """The images of a split as the model reads them."""

    rows: ImageRows
    augment: Augmentation | None = None
    epoch: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> EncodedImage: ...
    @overload
    def __getitem__(self, place: slice) -> list[EncodedImage]: ...
    def __getitem__(self, place: int | slice) -> EncodedImage | list[EncodedImage]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        image = torch.tensor(self.rows.images[place])
        return EncodedImage(image if self.augment is None else self.augment(image, self.epoch, place))

    def at_epoch(self, epoch: int) -> ImageExamples:
        """The same rows in this epoch: drawn anew if they are drawn at random."""
        return replace(self, rows=self.rows.redrawn(epoch), epoch=epoch)
