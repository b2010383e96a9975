"""Masks over pixels: a network that makes one from a noisy image (ARS), or one learned mask for all images.

A mask is one number from 0 to 1 per place, for all channels alike. It is never exactly 0 (``SMALLEST``), so
that what is divided by it stays finite. It begins near ½, where it learns fastest: the noise behind a mask is
in proportion to it, so only differences between places matter.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unfooled.files import JsonMapping, JsonObject
from unfooled.settings import build, choose, setting

SMALLEST = 1e-3
FIRST_SHARE = 0.5
"""Share of the noise budget that a learned first query begins with: σ₁ = √2·σ."""


@dataclass(frozen=True)
class UNet:
    """A UNet of 3×3 convolutions: the mask network of Adaptive Randomized Smoothing (Lyu et al. 2024).

    Images too small for all levels have fewer of them.
    """

    name: ClassVar[str] = "unet"

    width: int = setting(
        32, "Channels of the first level; each further one has twice as many", at_least=1, at_most=1024
    )
    levels: int = setting(4, "Levels; the size is halved between them", at_least=1, at_most=8)
    dropout: float = setting(0.3, "Channels left out in training", at_least=0, at_most=0.95)
    shrink: int = setting(1, "Average blocks of so many pixels in square first", at_least=1, at_most=16)
    learned_share: bool = setting(False, "Learn which share of the noise budget the first query gets")

    def network(self, shape: tuple[int, ...]) -> nn.Module:
        return _UNet(shape, self)


@dataclass(frozen=True)
class Static:
    """One learned mask, the same for all images."""

    name: ClassVar[str] = "static"
    learned_share: ClassVar[bool] = False

    def network(self, shape: tuple[int, ...]) -> nn.Module:
        return _Static(shape)


_MASKS: dict[str, type[Any]] = {"unet": UNet, "static": Static}


class Mask(nn.Module):
    """A mask network and, if it is learned, the share of the noise budget that the first query gets."""

    def __init__(self, settings: UNet | Static, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.settings = settings
        self.network = settings.network(shape)
        self.share_logit = nn.Parameter(torch.zeros(())) if settings.learned_share else None

    @property
    def adaptive(self) -> bool:
        """Whether the mask depends on the image."""
        return isinstance(self.settings, UNet)

    def share(self) -> Tensor | None:
        """The learned share of σ⁻² that is spent on the first query, 0 to 1; None if it is not learned."""
        return None if self.share_logit is None else 0.02 + 0.96 * torch.sigmoid(self.share_logit)

    def forward(self, look: Tensor) -> Tensor:
        """The mask ``(rows, 1, height, width)`` for images ``(rows, channels, height, width)``."""
        found: Tensor = self.network(look).float()
        return torch.sigmoid(found).clamp_min(SMALLEST)

    def describe(self) -> JsonObject:
        return {"name": self.settings.name, "settings": asdict(self.settings)}


def make_mask(name: str, settings: JsonMapping, shape: tuple[int, ...]) -> Mask:
    """A new mask network; its weights are drawn from PyTorch's seed."""
    return Mask(build(choose(_MASKS, name, kind="mask"), settings, owner=f"mask '{name}'"), shape)


class _Static(nn.Module):
    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(1, 1, *shape[1:]))

    def forward(self, look: Tensor) -> Tensor:
        return self.logits.expand(len(look), -1, -1, -1)


class _UNet(nn.Module):
    def __init__(self, shape: tuple[int, ...], settings: UNet) -> None:
        super().__init__()
        channels, *size = shape
        self.shrink = settings.shrink
        size = [-(-one // self.shrink) for one in size]
        levels = settings.levels
        while levels > 1 and min(size) // 2 ** (levels - 1) < 4:
            levels -= 1
        self.levels = levels
        widths = [settings.width * 2**level for level in range(levels)]
        self.down = nn.ModuleList(
            _convolutions(before, width, settings.dropout)
            for before, width in zip([channels, *widths], widths, strict=False)
        )
        self.up = nn.ModuleList(
            _convolutions(wide + narrow, narrow, settings.dropout)
            for wide, narrow in zip(widths[:0:-1], widths[-2::-1], strict=True)
        )
        self.out = nn.Conv2d(widths[0], 1, 1)

    def forward(self, look: Tensor) -> Tensor:
        kept, features = [], look
        if self.shrink > 1:
            features = F.avg_pool2d(look, self.shrink, ceil_mode=True)
        for number, part in enumerate(self.down):
            features = part(features if not number else F.max_pool2d(features, 2, ceil_mode=True))
            kept.append(features)
        for part, beside in zip(self.up, kept[-2::-1], strict=True):
            features = F.interpolate(features, size=beside.shape[2:], mode="nearest")
            features = part(torch.cat([beside, features], dim=1))
        found: Tensor = self.out(features)
        if self.shrink > 1:
            found = F.interpolate(found, scale_factor=float(self.shrink), mode="nearest")
        return found[:, :, : look.shape[2], : look.shape[3]]


def _convolutions(before: int, width: int, dropout: float) -> nn.Module:
    layers = list[nn.Module]()
    for channels in (before, width):
        layers += [
            nn.Conv2d(channels, width, 3, padding=1, padding_mode="reflect", bias=False),
            nn.BatchNorm2d(width),
            nn.LeakyReLU(),
            nn.Dropout2d(dropout),
        ]
    return nn.Sequential(*layers)
