"""Stability training with noise (STN; Li, Chen, Wang, Carin; NeurIPS 2019, §5).

CE(f(x), y) + γ·CE(softmax f(x), softmax f(x + noise)): the noisy answer is drawn to the clean one. The soft
targets are constants. The paper does not say whether they are; the cross-entropy of the authors' code passes
no gradient to its targets. γ = 1 is theirs. Deployed with the noisy vote, noise at the embeddings.

Deviations. The authors' code takes the clean logits themselves for targets; here, as in the paper, their
softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional as F

from unfooled.defences.noise_augment import NoiseAugment
from unfooled.defences.session import Pass, Session, Step, Training
from unfooled.settings import setting


@dataclass(frozen=True)
class Stability(NoiseAugment):
    """The clean loss, and the noisy answer drawn to the clean one."""

    name: ClassVar[str] = "stability"
    summary: ClassVar[str] = "Noisy answers drawn to the clean one (STN, Li et al. 2019); certifiable vote"

    weights: ClassVar[tuple[str, ...]] = ("gamma",)

    warmup: float = setting(
        0.0, "Share of training over which the noise rises from nothing", at_least=0, at_most=1
    )
    gamma: float = setting(1.0, "Weight of the stability term (γ)", at_least=0)

    def begin(self, training: Training) -> StabilitySession:
        return StabilitySession(training, self)


class StabilitySession(Session[Stability]):
    """Plain fine-tuning, and a term that draws the noisy answer to the clean one."""

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        if self.defence.gamma == 0:
            return None
        noised = getattr(seen.batch, "noised", None)
        noisy = seen.start + self.defence.noise(step)("embeddings", seen.start, noised)
        logits = self.model.forward(seen.batch, start=noisy).logits
        target = seen.forward.logits.detach().softmax(dim=-1)
        return self.defence.gamma * F.cross_entropy(logits.flatten(0, -2), target.flatten(0, -2))
