"""How large noise and perturbations at the word embeddings are: by default, and while training warms up.

The default σ is a share of the distance between two random words of the encoder's own table, std·√(2·width).
For the shipped encoder (coordinates of standard deviation 0.056, 384 of them, random words 1.58 apart) it is
0.25. There the nearest row of the table is still the right word in 56 % of draws (84 % at 0.2, 34 % at 0.3),
and the largest radius that 10,000 samples can prove, 3.2 σ = 0.80, reaches a quarter of the counter-fitted
neighbours (half of them lie within 0.91). docs/noise-size.md has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from unfooled.attacks.image.ball import RADII, Norm
from unfooled.defences.session import Step
from unfooled.errors import UsageError
from unfooled.models import OF_TEXTS, Model
from unfooled.models.noise import NoiseKind

SHARE = 0.16
"""σ by the distance of two random words."""

PIXEL_SIGMA = 0.25
"""σ for pixels from 0 to 1, as in most of Cohen et al. 2019."""


@dataclass(frozen=True)
class BallSizes:
    """The ball that an adversary stays in, and its steps."""

    norm: Norm
    radius: float
    step_size: float


def ball_sizes(
    model: Model,
    shares: Mapping[str, float],
    *,
    norm: Norm | None,
    radius: float | None,
    step_size: float | None,
    steps: int,
) -> BallSizes:
    """What is not given: an ℓ2 ball of shares of the encoder's table for texts, an ℓ∞ ball for images.

    A step there is 2.5·ε/K, so that K steps reach any point of the ball from any other (Madry et al. 2018).
    """
    norm = norm or ("linf" if model.kind == "image" else "l2")
    radius = fitted(model, "radius", radius, shares["radius"], RADII[norm])
    pixel_step = 2.5 * radius / max(1, steps)
    return BallSizes(norm, radius, fitted(model, "step_size", step_size, shares["step_size"], pixel_step))


def default_sigma(model: Model, kind: NoiseKind = "gaussian") -> float:
    """σ for this encoder's table in two digits, or for pixels; for Laplace noise λ = σ/√2, as variable."""
    if model.kind == "image":
        return float(f"{PIXEL_SIGMA * (math.sqrt(0.5) if kind == 'laplace' else 1.0):.2g}")
    return fitted(model, "sigma", None, SHARE * (math.sqrt(0.5) if kind == "laplace" else 1.0))


def fitted(
    model: Model, setting: str, value: float | None, share: float, pixels: float | None = None
) -> float:
    """``value``, or if it is not given this share of the distance of two random words, in two digits.

    ``pixels`` is the default for images.
    """
    if value is not None:
        return value
    if model.kind == "image" and pixels is not None:
        return pixels
    if model.kind not in OF_TEXTS:
        raise UsageError(
            f"{setting} has a default for texts and images only, and this model reads neither. Give "
            f"{setting} in the units of its values, for example {setting}=0.25."
        )
    text: Any = model
    table = text.architecture.embeddings.weight
    with torch.no_grad():
        spread = float(table.float().std()) * math.sqrt(2 * table.shape[1])
    return float(f"{share * spread:.2g}")


def risen(step: Step, warmup: float) -> float:
    """How much of the noise (or a term) is on, 0 to 1: it rises evenly over the first ``warmup``."""
    return min(1.0, step.done / warmup) if warmup else 1.0
