"""Residual networks for small images (He, Zhang, Ren, Sun; CVPR 2016, §4.2): 20 and 110 layers.

Three stages of 16, 32 and 64 channels; shortcuts without weights (option A). Global average pooling, so that
images of any size are read whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from unfooled.models.images.cnn import MEAN, STD, GlobalAverage, Scaled, Shape
from unfooled.settings import setting


class Block(nn.Module):
    """Two 3×3 convolutions beside a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.stride, self.added = stride, width - channels

    def forward(self, features: Tensor) -> Tensor:
        found = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(features)))))
        if self.stride > 1 or self.added:
            features = features[:, :, :: self.stride, :: self.stride]
            features = F.pad(features, (0, 0, 0, 0, self.added // 2, self.added - self.added // 2))
        return F.relu(found + features)


@dataclass(frozen=True)
class ResNet20:
    """6n + 2 layers with n = 3."""

    name: ClassVar[str] = "resnet-20"
    summary: ClassVar[str] = "Residual network of 20 layers for small images (He et al. 2016)"
    blocks: ClassVar[int] = 3

    width: int = setting(
        16, "Channels of the first stage; the others have 2 and 4 times as many", at_least=1, at_most=1024
    )
    mean: float = setting(0.5, MEAN)
    std: float = setting(0.25, STD, at_least=0)

    def network(self, shape: Shape, classes: int) -> nn.Module:
        width = self.width
        layers: list[nn.Module] = [
            nn.Conv2d(shape[0], width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        channels = width
        for stage in range(3):
            for number in range(self.blocks):
                own = width * 2**stage
                layers.append(Block(channels, own, stride=2 if stage and not number else 1))
                channels = own
        return nn.Sequential(
            Scaled(self.mean, self.std), *layers, GlobalAverage(), nn.Linear(channels, classes)
        )


@dataclass(frozen=True)
class ResNet110(ResNet20):
    """6n + 2 layers with n = 18."""

    name: ClassVar[str] = "resnet-110"
    summary: ClassVar[str] = "Residual network of 110 layers for small images (He et al. 2016)"
    blocks: ClassVar[int] = 18
