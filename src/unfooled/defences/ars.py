"""Adaptive Randomized Smoothing (ARS; Lyu et al., NeurIPS 2024) and its baseline, a static mask.

A mask network looks at a first noisy query and says which pixels the second query needs, with less noise for
them (``unfooled.predictors.smoothing.masked_pixels``). Mask network and classifier are trained together with
cross-entropy alone, on the very queries that are deployed, with fresh noise in every step.

The paper's code trains the mask with a learning rate of its own: ``mask_lr`` 0.001, ``mask_schedule``
step:0.5:30, beside ``--lr 0.01 --schedule step:0.1:30 --warmup 0 --weight-decay 1e-4 --batch-size 300
--epochs 100`` for the classifier. Not given, both have the rate of the training.

Deviations. The weights of the average have the variance that the second
query has (the paper's leave out 1/d). No flips inside the certified model, where the authors' code flips all
draws of a batch with one coin: draws must be independent. ``static-mask`` is the paper's baseline: one
learned mask, one query, whose noise shrinks with the mask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import torch

from unfooled.defences.parts.scale import default_sigma, risen
from unfooled.defences.session import Losses, OwnRate, Session, Step, Training
from unfooled.errors import UsageError
from unfooled.files import JsonObject
from unfooled.hub.schedules import make_schedule
from unfooled.models import ImageModel, Model, as_image
from unfooled.predictors import Ars, StaticMaskVote
from unfooled.predictors.smoothing.masked_pixels import Level, averaged_queries, masked_query
from unfooled.settings import MOST_VOTES, setting

Masked = TypeVar("Masked", bound="MaskedDefence")


@dataclass(frozen=True)
class MaskedDefence(ABC):
    """What ARS and the static mask share: noise, and a mask that is trained with the classifier."""

    learning_rate: ClassVar[float] = 1e-3
    certifies: ClassVar[tuple[str, ...]] = ("linf",)
    refuses: ClassVar[dict[str, str]] = dict.fromkeys(
        ("text", "question"), "its mask hides pixels; certified-rsmi masks words"
    )

    sigma: float | None = setting(
        None, "Noise σ, pixels from 0 to 1: what the radius rests on; 0.25 if not given", at_least=0
    )
    warmup: float = setting(
        0.0, "Share of training over which the noise rises from nothing", at_least=0, at_most=1
    )
    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)
    mask_lr: float | None = setting(
        None, "Peak learning rate of the mask; the classifier's if not given (the paper's code: 0.001)"
    )
    mask_schedule: str | None = setting(
        None, "Schedule of that rate; the classifier's if not given (the paper's code: step:0.5:30)"
    )

    def __post_init__(self) -> None:
        if self.mask_lr is not None and not self.mask_lr > 0:
            raise UsageError(f"mask_lr must be above 0, got {self.mask_lr}.")
        if self.mask_schedule is not None:
            make_schedule(self.mask_schedule, "mask_schedule")
            if self.mask_lr is None:
                raise UsageError("mask_schedule needs mask_lr: give both or neither.")

    @abstractmethod
    def mask(self) -> tuple[str, JsonObject]:
        """The kind of mask and its settings."""

    @abstractmethod
    def predictor(self, model: Model) -> StaticMaskVote | Ars:
        """The vote that is deployed."""

    def resolved(self: Masked, model: Model) -> Masked:
        as_image(model).attach_mask(*self.mask())
        result = replace(self, sigma=default_sigma(model) if self.sigma is None else self.sigma)
        result.predictor(model).check(model)
        return result


@dataclass(frozen=True)
class StaticMaskDefence(MaskedDefence):
    """One learned mask before the noise."""

    name: ClassVar[str] = "static-mask"
    summary: ClassVar[str] = "Images: noise behind one learned mask (the baseline of ARS, Lyu et al. 2024)"
    deployed_as: ClassVar[str] = "static-mask"

    def mask(self) -> tuple[str, JsonObject]:
        return "static", {}

    def begin(self, training: Training) -> StaticMaskSession:
        return StaticMaskSession(training, self)

    def predictor(self, model: Model) -> StaticMaskVote:
        assert self.sigma is not None
        return StaticMaskVote(sigma=self.sigma, votes=self.votes)


@dataclass(frozen=True)
class ArsDefence(MaskedDefence):
    """A mask network and a classifier, trained together."""

    name: ClassVar[str] = "ars"
    summary: ClassVar[str] = "Images: two noisy queries, the second behind a mask made from the first (ARS)"
    deployed_as: ClassVar[str] = "ars"

    sigma_1: float | None = setting(
        None, "Noise of the first query (σ₁), above σ; σ·√2, half of the budget, if not given", at_least=0
    )
    learn_sigma_1: bool = setting(False, "Learn σ₁ with the weights, from σ·√2")
    channels: int = setting(
        32, "Channels of the mask network's first level; the paper's code has 32", at_least=1, at_most=1024
    )
    levels: int = setting(4, "Levels of the mask network; small images have fewer", at_least=1, at_most=8)
    dropout: float = setting(0.3, "Dropout of the mask network", at_least=0, at_most=0.95)
    shrink: int = setting(
        1,
        "Side of the square blocks of pixels that are averaged for the mask network and share a mask: 2 "
        "takes a quarter of its time",
        at_least=1,
        at_most=16,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learn_sigma_1 and self.sigma_1 is not None:
            raise UsageError("Give sigma_1 or learn_sigma_1, not both.")

    def mask(self) -> tuple[str, JsonObject]:
        return "unet", {
            "width": self.channels,
            "levels": self.levels,
            "dropout": self.dropout,
            "shrink": self.shrink,
            "learned_share": self.learn_sigma_1,
        }

    def begin(self, training: Training) -> ArsSession:
        return ArsSession(training, self)

    def predictor(self, model: Model) -> Ars:
        assert self.sigma is not None
        return Ars(sigma=self.sigma, sigma_1=self.sigma_1, votes=self.votes)


class MaskedSession(Session[Masked]):
    """A classifier and a mask, each with its learning rate."""

    def own_rates(self) -> list[OwnRate]:
        own = self.defence
        if own.mask_lr is None:
            return []
        schedule = None if own.mask_schedule is None else make_schedule(own.mask_schedule)
        return [OwnRate(as_image(self.model).module.mask, own.mask_lr, schedule)]


class StaticMaskSession(MaskedSession[StaticMaskDefence]):
    """Cross-entropy on noisy images behind the mask."""

    def loss(self, batch: Any, step: Step) -> Losses:
        image, own = as_image(self.model), self.defence
        assert own.sigma is not None
        clean = image.start(batch)
        query = masked_query(image, clean, torch.randn_like(clean), own.sigma * risen(step, own.warmup))
        return Losses(self.task_loss(image.forward(batch, start=query).logits, batch))


class ArsSession(MaskedSession[ArsDefence]):
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
