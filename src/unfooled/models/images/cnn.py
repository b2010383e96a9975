"""Convolutional networks: a small one, and the two of stability training (Li, Chen, Wang, Carin; 2019, §6).

Every network takes pixels from 0 to 1 and shifts and scales them itself, so that noise and radii are in the
units of the pixels. All end in global pooling or in a layer that is made for the size of the images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from unfooled.errors import UsageError
from unfooled.settings import setting

Shape = tuple[int, int, int]
MEAN, STD = "Pixel value that the network sees as 0", "Pixel difference that the network sees as 1"


class Scaled(nn.Module):
    """(pixel − mean) / std, inside the network."""

    def __init__(self, mean: float, std: float) -> None:
        super().__init__()
        if not std > 0:
            raise UsageError(f"std must be above 0, got {std}.")
        self.mean, self.std = mean, std

    def forward(self, pixels: Tensor) -> Tensor:
        return (pixels - self.mean) / self.std


class GlobalAverage(nn.Module):
    """The mean over all places, whatever the size of the image."""

    def forward(self, features: Tensor) -> Tensor:
        return features.mean(dim=(2, 3))


@dataclass(frozen=True)
class SmallCnn:
    """Three convolutions, each with BatchNorm, ReLU and a halving of the size, and global average pooling."""

    name: ClassVar[str] = "small-cnn"
    summary: ClassVar[str] = "Three 3×3 convolutions with BatchNorm, global average pooling"

    width: int = setting(
        32,
        "Channels of the first convolution; the others have 2 and 4 times as many",
        at_least=1,
        at_most=4096,
    )
    mean: float = setting(0.5, MEAN)
    std: float = setting(0.5, STD, at_least=0)

    def network(self, shape: Shape, classes: int) -> nn.Module:
        channels, layers = shape[0], list[nn.Module]()
        for number, width in enumerate((self.width, 2 * self.width, 4 * self.width)):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            if number < 2:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
            channels = width
        return nn.Sequential(
            Scaled(self.mean, self.std), *layers, GlobalAverage(), nn.Linear(channels, classes)
        )


@dataclass(frozen=True)
class MnistCnn:
    """Two 5×5 convolutions of 64 filters, each followed by 2×2 max pooling, and a layer of 128 (P3, §6).

    The paper does not say how the sizes fall between the layers; pooling is as in the network of Madry et al.
    (2018), which it follows.
    """

    name: ClassVar[str] = "mnist-cnn"
    summary: ClassVar[str] = "Two 5×5 convolutions of 64, dense 128 (STN, MNIST)"

    filters: int = setting(64, "Filters of each convolution", at_least=1, at_most=4096)
    hidden: int = setting(128, "Width of the dense layer", at_least=1, at_most=65536)
    mean: float = setting(0.0, MEAN)
    std: float = setting(1.0, STD, at_least=0)

    def network(self, shape: Shape, classes: int) -> nn.Module:
        _at_least(self.name, shape, 4)
        features = nn.Sequential(
            Scaled(self.mean, self.std),
            nn.Conv2d(shape[0], self.filters, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(self.filters, self.filters, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
        )
        width = _outputs(features, shape)
        return nn.Sequential(
            features, nn.Linear(width, self.hidden), nn.ReLU(), nn.Linear(self.hidden, classes)
        )


@dataclass(frozen=True)
class CifarCnn:
    """Seven convolutions with ELU and max pooling (P3, §6): 2 × 64, 2 × 128, 2 × 256, and one to the classes.

    The paper gives the number of convolutions, the pooling and, in the authors' code, the ELU; the widths are
    ours. The last convolution is 1×1 and averaged over all places.
    """

    name: ClassVar[str] = "cifar-cnn"
    summary: ClassVar[str] = "Seven convolutions, ELU, max pooling (STN, CIFAR-10)"

    width: int = setting(
        64, "Filters of the first pair; the others have 2 and 4 times as many", at_least=1, at_most=4096
    )
    mean: float = setting(0.5, MEAN)
    std: float = setting(0.5, STD, at_least=0)

    def network(self, shape: Shape, classes: int) -> nn.Module:
        channels, layers = shape[0], list[nn.Module]()
        for width in (self.width, 2 * self.width, 4 * self.width):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ELU()]
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ELU(), nn.MaxPool2d(2, ceil_mode=True)]
            channels = width
        return nn.Sequential(
            Scaled(self.mean, self.std), *layers, nn.Conv2d(channels, classes, 1), GlobalAverage()
        )


def _at_least(name: str, shape: Shape, size: int) -> None:
    if min(shape[1:]) < size:
        raise UsageError(f"{name} needs images of at least {size}×{size} pixels, not {shape[1]}×{shape[2]}.")


def _outputs(features: nn.Module, shape: Shape) -> int:
    """How many numbers come out for one image."""
    with torch.no_grad():
        return int(features(torch.zeros(1, *shape)).shape[1])
