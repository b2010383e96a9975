"""Adversarial training with PGD (Madry, Makelov, Schmidt, Tsipras, Vladu; ICLR 2018).

    CE(f(x + δ), y),   δ the result of K ascent steps on CE from a random point of the ball around x.

Steps go by the signs of the gradient (``norm=linf``) or by g/‖g‖ of each example (``norm=l2``). x + δ stays
in the ball and, for images, between 0 and 1. The paper: MNIST ε 0.3, 40 steps of 0.01; CIFAR-10 ε 8/255, 7
steps of 2/255.

Deviations. δ is made in evaluation mode, so that BatchNorm's running statistics see only the inputs that are
trained on. The random point is uniform for ℓ∞; for ℓ2 it is from a cube inside the ball. On word embeddings
sizes are those of TRADES.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from unfooled.attacks.image.ball import Norm
from unfooled.defences.parts.base import evaluating
from unfooled.defences.parts.scale import ball_sizes
from unfooled.defences.parts.virtual import MOST_ASCENTS
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.defences.trades import NORM_HELP, RADIUS_HELP, Trades
from unfooled.models import Model
from unfooled.models.ascent import Ascent, climb, uniform
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting


@dataclass(frozen=True)
class Pgd:
    """Trained on the worst point of a ball around each input, as far as K steps find it."""

    name: ClassVar[str] = "pgd"
    summary: ClassVar[str] = "Trained on the worst point near each input, found by PGD (Madry et al. 2018)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    deployed_as: ClassVar[str] = "plain"

    steps: int = setting(7, "Ascent steps (K)", at_least=1, at_most=MOST_ASCENTS)
    norm: Norm | None = setting(None, NORM_HELP)
    radius: float | None = setting(None, RADIUS_HELP, at_least=0)
    step_size: float | None = setting(
        None, "Size of an ascent step; if not given fitted to the encoder, for images 2.5·ε/K", at_least=0
    )

    def resolved(self, model: Model) -> Pgd:
        ball = ball_sizes(
            model,
            Trades.shares,
            norm=self.norm,
            radius=self.radius,
            step_size=self.step_size,
            steps=self.steps,
        )
        return replace(self, **vars(ball))

    def begin(self, training: Training) -> PgdSession:
        return PgdSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()


class PgdSession(Session[Pgd]):
    """Cross-entropy on adversarial inputs alone."""

    def loss(self, batch: Any, step: Step) -> Losses:
        own = self.defence
        assert own.radius is not None and own.step_size is not None
        ascent = Ascent(own.step_size, "l2" if own.norm == "l2" else "sign", own.radius)
        start = self.model.start(batch)
        with evaluating(self.model):
            delta = climb(
                self.model,
                batch,
                start,
                uniform(start.detach(), batch, ascent),
                ascent,
                own.steps,
                lambda logits: self.task_loss(logits, batch),
            )
        moved = self.model.forward(batch, start=start + delta.detach())
        return Losses(self.task_loss(moved.logits, batch))
