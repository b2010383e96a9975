"""Certified RSMI: trained on the two looks of certified masked inference, mask and average included.

RSMI (Moon et al. 2023) inside Adaptive Randomized Smoothing: a first look at the noisy embeddings chooses the
mask, a second one sees the rest, their inverse-variance average is classified
(``unfooled.predictors.smoothing.certified_masked``). Each step makes both looks by the predictor's own code.

Deviations from RSMI. The noise is at the embeddings alone, where it gives a certificate. Saliency is that of
the model's own answer in training too, since the label is not known when it is deployed; the noise of the
first look is its only draw; there is no step along the gradient. The mask token's embedding is not trained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from unfooled.defences.parts.base import evaluating
from unfooled.defences.parts.scale import default_sigma, risen
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.models import Batch, Model, as_text
from unfooled.predictors import CertifiedMasked
from unfooled.predictors.smoothing import masked_average
from unfooled.predictors.smoothing.certified_masked import Calibration
from unfooled.settings import MOST_VOTES, setting


@dataclass(frozen=True)
class CertifiedRsmi:
    """Two noisy looks, a mask between them, one certificate for all of it."""

    name: ClassVar[str] = "certified-rsmi"
    summary: ClassVar[str] = (
        "Gradient-guided masks that a certificate covers: two noisy looks (RSMI with ARS)"
    )
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("l2", "linf", "each-word")
    refuses: ClassVar[dict[str, str]] = {
        "question": "its vote is certified for labels, and spans have no certificate yet",
        "image": "its masks hide words; ars masks pixels",
    }
    deployed_as: ClassVar[str] = "certified-masked"

    sigma: float | None = setting(
        None,
        "Noise of the averaged looks (σ), which the radius rests on; fitted to the encoder if not given",
        at_least=0,
    )
    sigma_1: float | None = setting(
        None, "Noise of the first look (σ₁), above σ; σ·√2, half of the budget, if not given", at_least=0
    )
    masked_tokens: int = setting(1, "Masked tokens (M)", at_least=0)
    threat: Calibration = setting(
        "l2", "What the second look's noise is enough for: l2, or each-word (less noise behind a mask)"
    )
    warmup: float = setting(
        0.5, "Share of training over which the noise and M rise from nothing", at_least=0, at_most=1
    )
    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> CertifiedRsmi:
        as_text(model)  # other models are refused
        result = replace(self, sigma=default_sigma(model) if self.sigma is None else self.sigma)
        result.predictor(model).check(model)
        return result

    def begin(self, training: Training) -> CertifiedRsmiSession:
        return CertifiedRsmiSession(training, self)

    def looks(self, model: Model, batch: Batch, share: float) -> Tensor:
        """The average of two fresh looks, masked; ``share`` of the noise and of the masked tokens."""
        text = as_text(model)
        clean = text.start(batch)
        rows, tokens, width = clean.shape
        # The weights of the looks depend on σ₁ : σ₂ and the mask, so with a smaller σ they are the same.
        noise = share * torch.randn(rows, 2, tokens, width, dtype=clean.dtype, device=clean.device)
        with evaluating(model):  # the mask is a measurement
            return masked_average(
                text,
                batch,
                clean,
                noise=noise * batch.mask[:, None, :, None],
                sigmas=self.predictor(model).sigmas,
                masked_tokens=round(share * self.masked_tokens),
                threat=self.threat,
            )

    def predictor(self, model: Model) -> CertifiedMasked:
        assert self.sigma is not None
        return CertifiedMasked(
            sigma=self.sigma,
            sigma_1=self.sigma_1,
            masked_tokens=self.masked_tokens,
            threat=self.threat,
            votes=self.votes,
        )


class CertifiedRsmiSession(Session[CertifiedRsmi]):
    """Cross-entropy on the average of two noisy looks."""

    def loss(self, batch: Batch, step: Step) -> Losses:
        start = self.defence.looks(self.model, batch, risen(step, self.defence.warmup))
        return Losses(self.task_loss(self.model.forward(batch, start=start).logits, batch))
