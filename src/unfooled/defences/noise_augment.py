"""Noise augmentation: cross-entropy on noisy word embeddings (Cohen, Rosenfeld, Kolter; ICML 2019, §3.3).

Every example gets fresh noise at every step: on all of its tokens, the special ones included, as the
certified vote adds it, and never on padding. ``kind=laplace`` is for certificates of the sum of all changes
(Li et al. 2019). Deployed with the noisy vote, noise at the embeddings.

Deviations. The noise is on word embeddings, in place of pixels, and rises over the first half of training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from unfooled.defences.parts.scale import default_sigma, risen
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.models import FreshNoise, Model, Noise
from unfooled.models.noise import NoiseKind
from unfooled.predictors import Predictor, Vote
from unfooled.settings import MOST_VOTES, setting

Self = TypeVar("Self", bound="NoiseAugment")


@dataclass(frozen=True)
class NoiseAugment:
    """Noise at the embeddings in training and in the vote."""

    name: ClassVar[str] = "noise-augment"
    summary: ClassVar[str] = "Trained on noisy embeddings; noisy vote, certifiable (Cohen et al. 2019)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("l2", "linf", "each-word", "l1")
    deployed_as: ClassVar[str] = "vote"

    kind: NoiseKind = setting("gaussian", "Noise: gaussian for l2 certificates, laplace for l1")
    sigma: float | None = setting(
        None,
        "Noise scale: standard deviation σ (gaussian) or λ (laplace); fitted to the encoder if not given",
        at_least=0,
    )
    warmup: float = setting(
        0.5, "Share of training over which the noise rises from nothing", at_least=0, at_most=1
    )
    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self: Self, model: Model) -> Self:
        sigma = default_sigma(model, self.kind) if self.sigma is None else self.sigma
        result = replace(self, sigma=sigma)
        result.predictor(model).check(model)
        return result

    def noise(self, step: Step) -> FreshNoise:
        """The noise of this training step."""
        assert self.sigma is not None
        return FreshNoise(Noise(self.sigma * risen(step, self.warmup), ("embeddings",), self.kind))

    def begin(self, training: Training) -> Session[Any]:
        return NoiseAugmentSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        assert self.sigma is not None
        return Vote(
            sigma=self.sigma,
            noise_layers=("embeddings",),
            kind=self.kind,
            masking="none",
            masked_tokens=0,
            votes=self.votes,
        )


class NoiseAugmentSession(Session[NoiseAugment]):
    """Cross-entropy on noisy inputs."""

    def loss(self, batch: Any, step: Step) -> Losses:
        forward = self.model.forward(batch, sampler=self.defence.noise(step), sites=("embeddings",))
        return Losses(self.task_loss(forward.logits, batch))
