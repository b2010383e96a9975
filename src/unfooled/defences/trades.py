"""TRADES: accuracy traded for robustness (Zhang, Yu, Jiao, Xing, El Ghaoui, Jordan; ICML 2019, Algorithm 1).

    CE(f(x), y) + β·KL(f(x) ‖ f(x + δ)),   the gradient through both answers,

where δ begins as noise and climbs the same divergence within a ball, in evaluation mode, as in the authors'
code. ``norm=linf`` climbs by the signs of the gradient (the paper, for images), ``norm=l2`` by g/‖g‖ of each
example.

Deviations. The paper has images: CIFAR-10 β 6, ten steps of 0.007, ε 0.031; MNIST β 1, 40 steps of 0.01, ε
0.3; both ``norm=linf``, noise of 0.001. For images the default is ε 0.1 in ``linf``, steps of 2.5·ε/K. For
word embeddings it is a Euclidean ball over the whole text, like FreeLB's, with sizes that are shares of the
distance of two random words of the encoder's table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from unfooled.attacks.image.ball import Norm
from unfooled.defences.parts.base import evaluating
from unfooled.defences.parts.divergence import kl
from unfooled.defences.parts.scale import ball_sizes, fitted
from unfooled.defences.parts.virtual import MOST_ASCENTS, Virtual
from unfooled.defences.session import Pass, Session, Step, Training
from unfooled.models import Model
from unfooled.settings import setting

NORM_HELP = (
    "The ball: l2 (norm of δ per example) or linf (each coordinate, steps by sign); if not given linf for "
    "images, else l2"
)
RADIUS_HELP = "Size of the ball (ε); if not given fitted to the encoder, for images 0.1 (linf) or 1 (l2)"


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
    norm: Norm | None = setting(None, NORM_HELP)
    radius: float | None = setting(None, RADIUS_HELP, at_least=0)

    def resolved(self, model: Model) -> Trades:
        ball = ball_sizes(
            model,
            self.shares,
            norm=self.norm,
            radius=self.radius,
            step_size=self.step_size,
            steps=self.steps,
        )
        init = fitted(model, "init", self.init, self.shares["init"], 0.001)
        return replace(self, init=init, **vars(ball))

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
