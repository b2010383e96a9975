"""SMART: smooth answers and Bregman proximal steps (Jiang, He, Chen, Liu, Gao, Zhao; ACL 2020).

    CE(f(x), y) + λ·D(f(x), f(x + δ)) + μ·D(f(x), f̃(x)),   D(p, q) = KL(p ‖ q) + KL(q ‖ p)

δ begins as noise and climbs D by η·g/‖g‖∞, the norm of each example. In the term with δ each target is a
constant and each pass has its own dropout mask, as in the authors' code. f̃ is the mean teacher, with the
weights θ̃ ← β·θ̃ + (1 − β)·θ (the paper's momentum method); it answers without dropout and is a constant.
K = 1, λ = 1, μ = 1 and β = 0.99 are the paper's.

Deviations. η and the noise are shares of the distance of two random words of the encoder's own table, 0.01
and 0.001 for the shipped one. The paper's are 1e-3 and 1e-5; noise of 1e-5 is below the resolution of
bfloat16. β is the same throughout. The released code has no proximal term (``proximal=0``) and normalises δ
itself, to a size of about 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from unfooled.defences.alum import SHARES
from unfooled.defences.parts.divergence import symmetric_kl
from unfooled.defences.parts.virtual import Virtual
from unfooled.defences.session import Pass, Session, Step, Training, total
from unfooled.models import Model
from unfooled.settings import setting


@dataclass(frozen=True)
class Smart(Virtual):
    """Answers that are smooth around the inputs, and steps that stay near the mean of earlier weights."""

    name: ClassVar[str] = "smart"
    summary: ClassVar[str] = "Smooth answers, and steps near the mean of earlier weights (Jiang et al. 2020)"
    learning_rate: ClassVar[float] = 1e-4
    shares: ClassVar[dict[str, float]] = SHARES
    weights: ClassVar[tuple[str, ...]] = ("weight", "proximal")

    weight: float = setting(1.0, "Weight of the smoothness term (λ)", at_least=0)
    radius: float | None = setting(None, "Limit of each coordinate of δ (ε); none if not given", at_least=0)
    proximal: float = setting(1.0, "Weight of the Bregman proximal term (μ)", at_least=0)
    momentum: float = setting(0.99, "How slowly the mean teacher follows (β)", at_least=0, at_most=1)

    def begin(self, training: Training) -> SmartSession:
        return SmartSession(training, self)


class SmartSession(Session[Smart]):
    """Plain fine-tuning, the smoothness term and the proximal term."""

    def __init__(self, training: Training, defence: Smart) -> None:
        super().__init__(training, defence)
        self.teacher: Model | None = None
        if defence.proximal:
            self.teacher = deepcopy(training.model)
            self.teacher.module.requires_grad_(False).eval()

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        return total([self._smoothness(seen), self._proximity(seen)])

    def _smoothness(self, seen: Pass) -> Tensor | None:
        own, answer = self.defence, seen.forward.logits
        if own.weight == 0:
            return None
        fixed = answer.detach()
        delta = own.adversary(self.model, seen, lambda logits: symmetric_kl(fixed, logits), "max", own.radius)
        moved = self.model.forward(seen.batch, start=seen.start + delta).logits
        return own.weight * symmetric_kl(answer, moved, constant_targets=True)

    def _proximity(self, seen: Pass) -> Tensor | None:
        if self.teacher is None:
            return None
        with torch.no_grad():
            self._follow(self.teacher)
            earlier = self.teacher.forward(seen.batch).logits
        return self.defence.proximal * symmetric_kl(seen.forward.logits, earlier)

    def _follow(self, teacher: Model) -> None:
        """θ̃ ← β·θ̃ + (1 − β)·θ; what is no weight (running statistics) is taken over."""
        for mean, weight in zip(teacher.module.parameters(), self.model.module.parameters(), strict=True):
            mean.lerp_(weight, 1 - self.defence.momentum)
        for kept, now in zip(teacher.module.buffers(), self.model.module.buffers(), strict=True):
            kept.copy_(now)

    def state_dict(self) -> dict[str, Any]:
        return {} if self.teacher is None else {"teacher": self.teacher.module.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self.teacher is not None:
            self.teacher.module.load_state_dict(state["teacher"])
