"""Stability training with noise (STN; Li, Chen, Wang, Carin; NeurIPS 2019, §5).

CE(f(x), y) + γ·CE(softmax f(x), softmax f(x + noise)): the noisy answer is drawn to the clean one. The soft
targets are constants. The paper does not say whether they are; the cross-entropy of the authors' code passes
no gradient to its targets. γ = 1 is theirs. Deployed with the noisy vote, noise at the embeddings.

Deviations. The authors' code takes the clean logits themselves for targets; here, as in the paper, their
softmax. Clean and noisy rows go through the model in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.nn import functional as F

from unfooled.defences.noise_augment import NoiseAugment
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.settings import setting


@dataclass(frozen=True)
class Stability(NoiseAugment):
    """The clean loss, and the noisy answer drawn to the clean one."""

    name: ClassVar[str] = "stability"
    summary: ClassVar[str] = "Noisy answers drawn to the clean one (STN, Li et al. 2019); certifiable vote"

    warmup: float = setting(
        0.0, "Share of training over which the noise rises from nothing", at_least=0, at_most=1
    )
    gamma: float = setting(1.0, "Weight of the stability term (γ)", at_least=0)

    def begin(self, training: Training) -> StabilitySession:
        return StabilitySession(training, self)


class StabilitySession(Session[Stability]):
    """Plain fine-tuning, and a term that draws the noisy answer to the clean one."""

    def loss(self, batch: Any, step: Step) -> Losses:
        if self.defence.gamma == 0:
            return super().loss(batch, step)
        clean = self.model.start(batch)
        noisy = clean + self.defence.noise(step)("embeddings", clean, getattr(batch, "mask", None))
        twice = torch.arange(len(batch), device=clean.device).repeat(2)
        forward = self.model.forward(batch.rows(twice), start=torch.cat([clean, noisy]))
        clean_logits, noisy_logits = forward.logits.chunk(2)
        target = clean_logits.detach().softmax(dim=-1)
        stability = F.cross_entropy(noisy_logits, target)
        return Losses(self.task_loss(clean_logits, batch), self.defence.gamma * stability, plain=True)
