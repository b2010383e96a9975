"""Adaptive Randomized Smoothing (ARS; Lyu et al., NeurIPS 2024) and its baseline, a static mask.

A mask network looks at a first noisy query and says which pixels the second query needs, with less noise for
them (``unfooled.predictors.smoothing.masked_pixels``). Mask network and classifier are trained together with
cross-entropy alone, on the very queries that are deployed, with fresh noise in every step.

Deviations. One learning rate for both networks. The weights of the average have the variance that the second
query has (the paper's leave out 1/d). No flips inside the certified model, where the authors' code flips all
draws of a batch with one coin: draws must be independent. ``static-mask`` is the paper's baseline: one
learned mask, one query, whose noise shrinks with the mask.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from unfooled.defences.scale import default_sigma, risen
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.errors import UsageError
from unfooled.models import ImageModel, Model, as_image
from unfooled.predictors import Ars, StaticMaskVote
from unfooled.predictors.smoothing.masked_pixels import Level, averaged_queries, masked_query
from unfooled.settings import MOST_VOTES, setting

SIGMA = "Noise σ, pixels from 0 to 1: what the radius rests on; 0.25 if not given"
WARMUP = "Share of training over which the noise rises from nothing"


@dataclass(frozen=True)
class StaticMaskDefence:
    """One learned mask before the noise."""

    name: ClassVar[str] = "static-mask"
    summary: ClassVar[str] = "Images: noise behind one learned mask (the baseline of ARS, Lyu et al. 2024)"
    learning_rate: ClassVar[float] = 1e-3
    certifies: ClassVar[tuple[str, ...]] = ("linf",)
    deployed_as: ClassVar[str] = "static-mask"

    sigma: float | None = setting(None, SIGMA, at_least=0)
    warmup: float = setting(0.0, WARMUP, at_least=0, at_most=1)
    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> StaticMaskDefence:
        as_image(model).attach_mask("static", {})
        result = replace(self, sigma=default_sigma(model) if self.sigma is None else self.sigma)
        result.predictor(model).check(model)
        return result

    def begin(self, training: Training) -> StaticMaskSession:
        return StaticMaskSession(training, self)

    def predictor(self, model: Model) -> StaticMaskVote:
        assert self.sigma is not None
        return StaticMaskVote(sigma=self.sigma, votes=self.votes)


@dataclass(frozen=True)
class ArsDefence:
    """A mask network and a classifier, trained together."""

    name: ClassVar[str] = "ars"
    summary: ClassVar[str] = "Images: two noisy queries, the second behind a mask made from the first (ARS)"
    learning_rate: ClassVar[float] = 1e-3
    certifies: ClassVar[tuple[str, ...]] = ("linf",)
    deployed_as: ClassVar[str] = "ars"

    sigma: float | None = setting(None, SIGMA, at_least=0)
    sigma_1: float | None = setting(
        None, "Noise of the first query (σ₁), above σ; σ·√2, half of the budget, if not given", at_least=0
    )
    learn_sigma_1: bool = setting(False, "Learn σ₁ with the weights, from σ·√2")
    channels: int = setting(
        32, "Channels of the mask network's first level; the paper's code has 32", at_least=1, at_most=1024
    )
    levels: int = setting(4, "Levels of the mask network; small images have fewer", at_least=1, at_most=8)
    dropout: float = setting(0.3, "Dropout of the mask network", at_least=0, at_most=0.95)
    warmup: float = setting(0.0, WARMUP, at_least=0, at_most=1)
    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> ArsDefence:
        if self.learn_sigma_1 and self.sigma_1 is not None:
            raise UsageError("sigma_1 and learn_sigma_1 exclude each other: give one of them.")
        as_image(model).attach_mask(
            "unet",
            {
                "width": self.channels,
                "levels": self.levels,
                "dropout": self.dropout,
                "learned_share": self.learn_sigma_1,
            },
        )
        result = replace(self, sigma=default_sigma(model) if self.sigma is None else self.sigma)
        result.predictor(model).check(model)
        return result

    def begin(self, training: Training) -> ArsSession:
        return ArsSession(training, self)

    def predictor(self, model: Model) -> Ars:
        assert self.sigma is not None
        return Ars(sigma=self.sigma, sigma_1=self.sigma_1, votes=self.votes)


class StaticMaskSession(Session[StaticMaskDefence]):
    """Cross-entropy on noisy images behind the mask."""

    def loss(self, batch: Any, step: Step) -> Losses:
        image, own = as_image(self.model), self.defence
        assert own.sigma is not None
        clean = image.start(batch)
        query = masked_query(image, clean, torch.randn_like(clean), own.sigma * risen(step, own.warmup))
        return Losses(self.task_loss(image.forward(batch, start=query).logits, batch))


class ArsSession(Session[ArsDefence]):
    """Cross-entropy on the average of two queries."""

    def loss(self, batch: Any, step: Step) -> Losses:
        image, own = as_image(self.model), self.defence
        clean, share = image.start(batch), risen(step, own.warmup)
        # The weights of the average depend on σ₁ : σ₂ and the mask, so with smaller noise they are the same.
        sigmas = self._sigmas(image)
        first = clean + sigmas[0] * share * torch.randn_like(clean)
        average = averaged_queries(image, clean, first, share * torch.randn_like(clean), sigmas)
        return Losses(self.task_loss(image.forward(batch, start=average).logits, batch))

    def _sigmas(self, image: ImageModel) -> tuple[Level, Level]:
        own = self.defence
        assert own.sigma is not None
        learned = image.module.mask.share()
        if learned is not None:
            return own.sigma / learned.sqrt(), own.sigma / (1 - learned).sqrt()
        first, second = own.predictor(image).steps(image)
        return first, second
