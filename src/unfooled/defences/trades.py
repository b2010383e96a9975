"""TRADES: accuracy traded for robustness (Zhang, Yu, Jiao, Xing, El Ghaoui, Jordan; ICML 2019, Algorithm 1).

    CE(f(x), y) + β·KL(f(x) ‖ f(x + δ)),   the gradient through both answers,

where δ begins as noise and climbs the same divergence within a ball, in evaluation mode, as in the authors'
code. ``norm=linf`` climbs by the signs of the gradient (the paper, for images), ``norm=l2`` by g/‖g‖ of each
example.

Deviations. The paper has images: CIFAR-10 β 6, ten steps of 0.007, ε 0.031; MNIST β 1, 40 steps of 0.01, ε
0.3; both ``norm=linf``, noise of 0.001. For word embeddings the default is a Euclidean ball over the whole
text, like FreeLB's, with sizes that are shares of the distance of two random words of the encoder's table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unfooled.defences.base import evaluating
from unfooled.defences.divergence import kl
from unfooled.defences.session import Pass, Session, Step, Training
from unfooled.defences.virtual import MOST_ASCENTS, Virtual
from unfooled.settings import setting


@dataclass(frozen=True)
class Trades(Virtual):
    """The answer nearby that differs most, drawn to the clean one and the clean one to it."""

    name: ClassVar[str] = "trades"
    summary: ClassVar[str] = "Accuracy traded for answers that hold nearby, one KL (Zhang et al. 2019)"
    learning_rate: ClassVar[float] = 1e-4
    shares: ClassVar[dict[str, float]] = {"step_size": 0.065, "init": 0.00065, "radius": 0.195}
    """0.1, 0.001 and 0.3 for the shipped encoder."""

    weight: float = setting(1.0, "Weight of the divergence (β)", at_least=0)
    steps: int = setting(3, "Ascent steps (K)", at_least=0, at_most=MOST_ASCENTS)
    norm: Literal["l2", "linf"] = setting(
        "l2", "The ball: l2 (norm of δ per example) or linf (each coordinate, steps by sign)"
    )
    radius: float | None = setting(
        None, "Size of the ball (ε); fitted to the encoder if not given", at_least=0
    )

    def begin(self, training: Training) -> TradesSession:
        return TradesSession(training, self)


class TradesSession(Session[Trades]):
    """Plain fine-tuning, and the divergence from the answer to a virtual adversary."""

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        own = self.defence
        if own.weight == 0:
            return None
        with evaluating(self.model):
            with torch.no_grad():
                answer = self.model.forward(seen.batch, start=seen.start).logits
            along: Any = "l2" if own.norm == "l2" else "sign"
            delta = own.adversary(self.model, seen, lambda logits: kl(answer, logits), along, own.radius)
        moved = self.model.forward(seen.batch, start=seen.start + delta).logits
        return own.weight * kl(seen.forward.logits, moved)
