"""The images that an attack may show its victim: pixels from 0 to 1, at most so far from the original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unfooled.attacks.victim import ImageArray

Norm = Literal["linf", "l2"]
RADII: dict[Norm, float] = {"linf": 0.1, "l2": 1.0}
"""ε where none is given: between the ℓ∞ ball of CIFAR-10 in the literature, 0.031, and that of MNIST, 0.3."""


@dataclass(frozen=True)
class Ball:
    """All images within ``radius`` of one, by the largest change of a pixel or by the Euclidean norm."""

    norm: Norm
    radius: float

    def distance(self, original: ImageArray, other: ImageArray) -> float:
        """Computed in double precision from the single-precision pixels."""
        change = np.abs(other.astype(np.float64) - original)
        return float(change.max() if self.norm == "linf" else np.sqrt(np.square(change).sum()))

    def holds(self, original: ImageArray, other: ImageArray) -> bool:
        """Whether the image may be shown; no rounding is forgiven."""
        in_range = bool((other >= 0).all() and (other <= 1).all())
        return in_range and self.distance(original, other) <= self.radius

    def nearest(self, original: ImageArray, other: ImageArray) -> ImageArray:
        """The image in the ball in the direction of ``other``, itself if it is there; exactly in the ball."""
        change: Any = np.clip(other.astype(np.float64), 0, 1) - original
        if self.norm == "linf":
            change = np.clip(change, -self.radius, self.radius)
            moved: ImageArray = (original + change).astype(np.float32)
            over = np.abs(moved.astype(np.float64) - original) > self.radius  # rounded away from the image
            moved[over] = np.nextafter(moved[over], original[over])
            return moved
        length = np.sqrt(np.square(change).sum())
        scale = min(1.0, self.radius / length) if length > 0 else 0.0
        for shrink in (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
            moved = (original + (1 - shrink) * scale * change).astype(np.float32)
            if self.distance(original, moved) <= self.radius:
                return moved
        return original
