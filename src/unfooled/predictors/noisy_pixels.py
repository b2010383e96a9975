"""What a predictor does to pixels before its network answers, as a function that can be differentiated.

Attacks that average over a victim's randomness (expectation over transformation) need its very noise: of the
vote, behind a static mask, or of ARS's two queries with the mask network between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from unfooled.models import ImageModel
from unfooled.models.noise import NoiseKind
from unfooled.predictors.plain import Plain
from unfooled.predictors.predictor import Predictor
from unfooled.predictors.randomised import Randomised
from unfooled.predictors.smoothing.masked_pixels import Ars, StaticMaskVote, averaged_queries, masked_query


@dataclass(frozen=True)
class NoisyPixels:
    """What the network classifies, of clean pixels ``(rows, …)`` and unit noise ``(rows, looks, …)``."""

    looks: int
    """Arrays of noise per row; 0: nothing is drawn."""
    seen: Callable[[Tensor, Tensor], Tensor]
    kind: NoiseKind = "gaussian"


def noisy_pixels(predictor: Predictor, model: ImageModel) -> NoisyPixels | None:
    """How ``predictor`` draws; None if that is not known, as for a predictor of another package."""
    if isinstance(predictor, Ars):
        first, second = predictor.steps(model)
        return NoisyPixels(
            2,
            lambda clean, noise: averaged_queries(
                model, clean, clean + first * noise[:, 0], noise[:, 1], (first, second)
            ),
        )
    if isinstance(predictor, StaticMaskVote):
        return NoisyPixels(1, lambda clean, noise: masked_query(model, clean, noise[:, 0], predictor.sigma))
    if isinstance(predictor, Plain) or (isinstance(predictor, Randomised) and not predictor.randomised):
        return NoisyPixels(0, lambda clean, noise: clean)
    if isinstance(predictor, Randomised):
        added = predictor.noise
        return NoisyPixels(1, lambda clean, noise: clean + added.scale * noise[:, 0], added.kind)
    return None
