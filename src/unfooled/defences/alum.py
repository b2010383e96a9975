"""ALUM: adversarial training for large models, as fine-tuning (Liu, Cheng, He, Chen, Wang, Poon, Gao; 2020).

    CE(f(x), y) + α·[KL(f(x) ‖ f(x + δ)) + KL(f(x + δ) ‖ f(x))],   each target a constant,

where δ begins as noise and climbs KL(f(x) ‖ f(x + δ)) by η·g/‖g‖∞, the norm of each example; K = 1 and α = 1
are the authors'. Every pass has its own dropout mask, like theirs.

Deviations. η and the noise are shares of the distance of two random words of the encoder's own table, 0.01
and 0.001 for the shipped one. The authors' are 1e-3 and 1e-5; noise of 1e-5 is below the resolution of
bfloat16. Their pre-training script has α = 10 and never switches the term on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from unfooled.defences.parts.divergence import kl, symmetric_kl
from unfooled.defences.parts.virtual import Virtual
from unfooled.defences.session import Pass, Session, Step, Training
from unfooled.settings import setting

SHARES = {"step_size": 0.0065, "init": 0.00065}
"""0.01 and 0.001 for the shipped encoder."""


@dataclass(frozen=True)
class Alum(Virtual):
    """The answer nearby that differs most, and the clean one, drawn to each other."""

    name: ClassVar[str] = "alum"
    summary: ClassVar[str] = "Answers alike to inputs that differ little, symmetric KL (Liu et al. 2020)"
    learning_rate: ClassVar[float] = 1e-4
    shares: ClassVar[dict[str, float]] = SHARES

    weight: float = setting(1.0, "Weight of the divergence (α)", at_least=0)

    def begin(self, training: Training) -> AlumSession:
        return AlumSession(training, self)


class AlumSession(Session[Alum]):
    """Plain fine-tuning, and the divergence from the answer to a virtual adversary."""

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        own, answer = self.defence, seen.forward.logits
        if own.weight == 0:
            return None
        fixed = answer.detach()
        delta = own.adversary(self.model, seen, lambda logits: kl(fixed, logits), "max")
        moved = self.model.forward(seen.batch, start=seen.start + delta).logits
        return own.weight * symmetric_kl(answer, moved, constant_targets=True)
