"""Masks over pixels that a certificate covers: Adaptive Randomized Smoothing (Lyu et al. 2024), static masks.

ARS queries the image x, of d numbers, twice:

    m₁ = x + N(0, σ₁²),   w = mask(m₁),   m₂ = w ⊙ x + N(0, v),   v = (‖w‖₂²/d)·σ₂²

and classifies the average c₁m₁ + c₂m₂ with c₂ = σ₁²w/(σ₁²w² + v), c₁ = 1 − wc₂: unbiased, and of all such
averages the one of least variance, σ₁²v/(σ₁²w² + v). Where no number of x moves by more than r, w ⊙ x moves
by r‖w‖₂ at most, so the second query tells two such images apart no better than one with noise σ₂ on all d
numbers. With σ⁻² = σ₁⁻² + σ₂⁻² the ℓ∞ radius of plain noise σ holds for the whole prediction, mask included,
and the numbers that count have less noise. It holds for ℓ∞ alone: all of an ℓ2 distance may lie where w is 1.

The paper's formula of c₂ leaves out the 1/d of v. A *static mask* is the same for all images, so there is one
query, m = w ⊙ x + N(0, (‖w‖₂²/d)·σ²), and the whole of σ is for it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from unfooled.errors import UsageError
from unfooled.models import EncodedInput, ImageModel, InputBatch, Model, as_image
from unfooled.models.images.mask import FIRST_SHARE
from unfooled.predictors.predictor import Seed
from unfooled.predictors.smoothing.base import SmoothedVote, seeds_of
from unfooled.predictors.smoothing.embedding_noise import StartSampler
from unfooled.predictors.smoothing.streams import single
from unfooled.settings import setting
from unfooled.statistics.noise_budget import split_noise

_ROUNDED_UP = 1 + 1e-6
"""Above the rounding of single precision: the noise is never less than was stated."""


@dataclass(frozen=True)
class MaskedPixels(SmoothedVote, ABC):
    """What ARS and the static mask share."""

    adaptive: ClassVar[bool]
    defence: ClassVar[str]

    sigma: float = setting(0.25, "Noise (σ), pixels from 0 to 1: what the certificate rests on", at_least=0)

    def check(self, model: Model) -> None:
        if self.sigma <= 0:
            raise UsageError("sigma must be above 0: without noise there is nothing to certify.")
        mask = as_image(model).module.mask
        if mask is None or mask.adaptive != self.adaptive:
            raise UsageError(
                f"The predictor '{self.name}' needs the mask that --defence {self.defence} trains, and this "
                "model has none. Train with that defence, or choose another --predictor."
            )

    @abstractmethod
    def steps(self, model: Model) -> tuple[float, ...]:
        """The noise of each query, before what a mask saves of it."""


@dataclass(frozen=True)
class StaticMaskVote(MaskedPixels):
    """A vote over noisy images behind one learned mask."""

    name: ClassVar[str] = "static-mask"
    defence: ClassVar[str] = "static-mask"
    adaptive: ClassVar[bool] = False

    def steps(self, model: Model) -> tuple[float, ...]:
        return (self.sigma,)

    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> StaticMaskSampler:
        return StaticMaskSampler(self, model, encoded, seeds_of(seed, len(encoded)), purpose)


@dataclass(frozen=True)
class Ars(MaskedPixels):
    """A vote in which every ballot has its own mask: two queries and their average."""

    name: ClassVar[str] = "ars"
    defence: ClassVar[str] = "ars"
    adaptive: ClassVar[bool] = True
    forwards_a_draw: ClassVar[int] = 2  # the pass of the mask network counts as one

    sigma_1: float | None = setting(
        None,
        "Noise of the first query (σ₁), above σ; if not given what was learned, else σ·√2, half the budget",
        at_least=0,
    )

    def check(self, model: Model) -> None:
        super().check(model)
        if self.sigma_1 is not None and self.sigma_1 <= self.sigma * (1 + 1e-6):
            raise UsageError(
                f"sigma_1 is {self.sigma_1} but must be above sigma, {self.sigma}: the first query may use "
                f"up only a part of the noise budget. Try sigma_1={1.5 * self.sigma:g}."
            )

    def steps(self, model: Model) -> tuple[float, ...]:
        """σ₁ and σ₂, which compose to σ."""
        first = self.sigma_1
        if first is None:
            share = as_image(model).module.mask.share()
            first = self.sigma / math.sqrt(FIRST_SHARE if share is None else float(share.detach()))
        return first, float(split_noise(self.sigma, first))

    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> ArsSampler:
        return ArsSampler(self, model, encoded, seeds_of(seed, len(encoded)), purpose)


Level = float | Tensor
"""The noise of a query: a number, or in training the tensor that learns it."""


def behind(mask: Tensor, sigma: Level) -> Tensor:
    """√v = σ‖w‖₂/√d of each row, rounded up; ``mask`` ``(rows, 1, height, width)`` is for all channels."""
    share = mask.double().square().mean(dim=(1, 2, 3), keepdim=True).sqrt()
    return (share * sigma * _ROUNDED_UP).to(mask.dtype)


def masked_query(model: ImageModel, clean: Tensor, noise: Tensor, sigma: Level) -> Tensor:
    """The one query of a static mask, from unit ``noise`` like ``clean``."""
    mask = model.masks(torch.zeros_like(clean))  # no function of the image, whatever network makes it
    return mask * clean + behind(mask, sigma) * noise


def averaged_queries(
    model: ImageModel, clean: Tensor, first: Tensor, noise: Tensor, sigmas: tuple[Level, Level]
) -> Tensor:
    """The average of two queries: ``first`` is m₁, ``noise`` the unit noise of the second.

    The mask is a function of m₁ alone, and m₁ is the very tensor that enters the average.
    """
    mask = model.masks(first)
    spread = behind(mask, sigmas[1])
    second = mask * clean + spread * noise
    variance = sigmas[0] ** 2
    weight = variance * mask / (variance * mask.square() + spread.square())
    return (1 - mask * weight) * first + weight * second


class StaticMaskSampler(StartSampler):
    """Draws labels behind a static mask."""

    def __init__(
        self,
        settings: StaticMaskVote,
        model: Model,
        encoded: Sequence[EncodedInput],
        seeds: Sequence[int],
        purpose: str,
    ) -> None:
        super().__init__(model, encoded, seeds, purpose)
        self._image = as_image(model)
        self._sigma = single(settings.sigma)

    def noisy(self, batch: InputBatch, clean: Tensor, noise: Tensor) -> Tensor:
        with torch.no_grad():
            return masked_query(self._image, clean, noise[:, 0], self._sigma)


class ArsSampler(StartSampler):
    """Draws labels of the two-query prediction: both networks in batches, a mask for every draw."""

    looks = 2

    def __init__(
        self,
        settings: Ars,
        model: Model,
        encoded: Sequence[EncodedInput],
        seeds: Sequence[int],
        purpose: str,
    ) -> None:
        super().__init__(model, encoded, seeds, purpose)
        self._image = as_image(model)
        first, second = settings.steps(model)
        self._sigmas = single(first), single(second)

    def noisy(self, batch: InputBatch, clean: Tensor, noise: Tensor) -> Tensor:
        """The image, the first query, and the second's noise: ``run``, which is checked, makes the masks."""
        first = noise[:, :1].mul_(self._sigmas[0]).add_(clean[:, None])
        return torch.cat([clean[:, None], first, noise[:, 1:]], dim=1)

    def run(self, batch: InputBatch, start: Tensor, keys: Sequence[int]) -> Tensor:
        average = averaged_queries(self._image, start[:, 0], start[:, 1], start[:, 2], self._sigmas)
        return self.model.forward(batch, start=average).logits
