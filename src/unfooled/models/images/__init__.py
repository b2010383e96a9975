"""Networks for images by name. A new one is a frozen dataclass of settings with ``network``, and a line here.

>>> make_architecture("small-cnn:width=16").network((1, 28, 28), classes=10)
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Protocol

from torch import nn

from unfooled.files import JsonMapping, JsonObject
from unfooled.models.images.cnn import CifarCnn, MnistCnn, SmallCnn
from unfooled.models.images.resnet import ResNet20, ResNet110
from unfooled.registry import Registry
from unfooled.settings import build, parse_assignments


class ImageArchitecture(Protocol):
    """The settings of a network; its weights are drawn from PyTorch's seed."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    def network(self, shape: tuple[int, int, int], classes: int) -> nn.Module:
        """Pixels ``(rows, channels, height, width)``, 0 to 1, to logits ``(rows, classes)``."""
        ...


ARCHITECTURES: Registry[type[Any]] = Registry(
    "architecture", (SmallCnn, MnistCnn, CifarCnn, ResNet20, ResNet110), needs=("summary", "network")
)


def make_architecture(name: str, settings: JsonMapping | None = None) -> ImageArchitecture:
    """The architecture called ``name``; its settings may follow the name, ``small-cnn:width=16,mean=0.1``."""
    plain, _, assigned = name.partition(":")
    given = parse_assignments([part for part in assigned.split(",") if part])
    chosen: ImageArchitecture = build(
        ARCHITECTURES.choose(plain), {**given, **(settings or {})}, owner=f"architecture '{plain}'"
    )
    return chosen


def described(architecture: ImageArchitecture) -> JsonObject:
    """Name and settings, as saved with a run."""
    return {"name": architecture.name, "settings": asdict(architecture)}  # type: ignore[call-overload]


__all__ = ["ARCHITECTURES", "ImageArchitecture", "described", "make_architecture"]
