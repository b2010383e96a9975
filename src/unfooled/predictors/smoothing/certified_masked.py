"""Certified masked inference: RSMI's gradient-guided mask inside Adaptive Randomized Smoothing.

First look: m₁ = x + N(0, σ₁²) at the word embeddings; saliency and mask are computed from m₁ alone. Second
look: x + N(0, σ₂²) at the positions that are not masked. Where both looked, they are averaged by inverse
variance, which is x + N(0, σ²) with σ⁻² = σ₁⁻² + σ₂⁻²; masked positions get the embedding of the mask
token. What is classified is thus a function of the two looks alone, and two Gaussian looks compose to one
of σ however the second was chosen after the first: the ℓ2 radius of plain noise σ holds for the whole
prediction, mask included.

``threat="each-word"`` makes the second look sharper where every word may move a little but none far: with M
of T word tokens masked it can tell two such texts apart by T − M tokens only, and needs σ₂·√((T − M)/T). What
it gains holds for that threat alone (Adaptive Randomized Smoothing, Proposition 2.2, with words for pixels).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import torch
from torch import Tensor

from unfooled.errors import UsageError
from unfooled.models import Batch, EncodedInput, InputBatch, Model, TextModel, as_text
from unfooled.predictors.predictor import Seed
from unfooled.predictors.saliency import most_salient
from unfooled.predictors.smoothing.base import SmoothedVote, seeds_of
from unfooled.predictors.smoothing.embedding_noise import StartSampler
from unfooled.predictors.smoothing.streams import single
from unfooled.settings import setting
from unfooled.statistics.noise_budget import masked_noise, split_noise

Calibration = Literal["l2", "each-word"]


@dataclass(frozen=True)
class CertifiedMasked(SmoothedVote):
    """A vote in which every ballot has its own noise, mask and second look."""

    name: ClassVar[str] = "certified-masked"
    forwards_a_draw: ClassVar[int] = 2  # the saliency pass counts as one

    sigma: float = setting(0.1, "Noise of the averaged looks (σ): what the certificate rests on", at_least=0)
    sigma_1: float | None = setting(
        None, "Noise of the first look (σ₁), above σ; σ·√2, half of the budget, if not given", at_least=0
    )
    masked_tokens: int = setting(1, "Masked tokens (M)", at_least=0)
    threat: Calibration = setting(
        "l2", "What the second look's noise is enough for: l2, or each-word (less noise behind a mask)"
    )

    @property
    def sigmas(self) -> tuple[float, float]:
        """σ₁ and σ₂, the latter before what a mask saves of it (``threat="each-word"``)."""
        first = math.sqrt(2) * self.sigma if self.sigma_1 is None else self.sigma_1
        return first, float(split_noise(self.sigma, first))

    def check(self, model: Model) -> None:
        if self.sigma <= 0:
            raise UsageError("sigma must be above 0: without noise there is nothing to average.")
        if self.sigma_1 is not None and self.sigma_1 <= self.sigma * (1 + 1e-6):
            raise UsageError(
                f"sigma_1 is {self.sigma_1} but must be above sigma, {self.sigma}: the first look may use up "
                f"only a part of the noise budget. Try sigma_1={1.5 * self.sigma:g}."
            )
        if self.masked_tokens and (reason := model.mask_refusal()):
            raise UsageError(f"masked_tokens: {reason}, or set masked_tokens=0.")

    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> MaskedSampler:
        return MaskedSampler(self, model, encoded, seeds_of(seed, len(encoded)), purpose)


def masked_average(
    model: TextModel,
    batch: Batch,
    clean: Tensor,
    *,
    noise: Tensor,
    sigmas: tuple[float, float],
    masked_tokens: int,
    threat: Calibration = "l2",
) -> Tensor:
    """The embeddings that are classified, from unit noise ``(rows, 2, tokens, width)``; not differentiated.

    ``clean`` are the word embeddings of the batch, in single precision at least. The mask is computed with
    the model in its present mode.
    """
    first, second = single(sigmas[0]), single(sigmas[1])
    # Summed in full precision and rounded once to the weights' own: the mask is computed from this tensor,
    # and this tensor enters the average. A second rounding would be a third look that nothing pays for.
    look = (clean + noise[:, 0] * first).to(model.embed(batch.ids[:1, :1]).dtype)
    masked = _mask(model, batch, look, masked_tokens)
    spread: Tensor | float = second
    if threat == "each-word" and masked is not None:
        # Of the first look alone, as it must be: how many word tokens the mask leaves of how many.
        sizes = zip(batch.maskable.sum(dim=1).tolist(), masked.sum(dim=1).tolist(), strict=True)
        found = [behind_mask(second, words, hidden) for words, hidden in sizes]
        spread = torch.tensor(found, dtype=clean.dtype, device=clean.device)[:, None, None]
    weight = spread**2 / (first**2 + spread**2)  # of the first look: by inverse variance
    average = weight * look.to(clean.dtype) + (1 - weight) * (clean + spread * noise[:, 1])
    if masked is None:
        return average
    mask_id = torch.tensor([[model.mask_token_id]], device=batch.ids.device)
    with torch.no_grad():
        mask_embedding = model.embed(mask_id)[0, 0].to(average.dtype)
    return torch.where(masked[:, :, None], mask_embedding, average)


@lru_cache(maxsize=4096)
def behind_mask(sigma: float, words: int, hidden: int) -> float:
    """``masked_noise`` in single precision, rounded up; 0 where the mask leaves no word to look at."""
    return single(float(masked_noise(sigma, words, hidden))) if hidden < words else 0.0


def _mask(model: TextModel, batch: Batch, look: Tensor, masked_tokens: int) -> Tensor | None:
    """Which positions the first look hides, ``(rows, tokens)``: the most salient of them; None without M."""
    if masked_tokens == 0:
        return None
    gradient, _ = model.gradient(batch, start=look)
    return most_salient(gradient, batch.maskable, masked_tokens)


class MaskedSampler(StartSampler):
    """Draws labels of the two-look prediction: new noise for both looks, so a new mask, in every draw."""

    looks = 2

    def __init__(
        self,
        settings: CertifiedMasked,
        model: Model,
        encoded: Sequence[EncodedInput],
        seeds: Sequence[int],
        purpose: str,
    ) -> None:
        super().__init__(model, encoded, seeds, purpose)
        self._text = as_text(model)
        self._settings = settings

    def noisy(self, batch: InputBatch, clean: Tensor, noise: Tensor) -> Tensor:
        assert isinstance(batch, Batch)
        return masked_average(
            self._text,
            batch,
            clean,
            noise=noise,
            sigmas=self._settings.sigmas,
            masked_tokens=self._settings.masked_tokens,
            threat=self._settings.threat,
        )
