"""FreeLB: adversarial training at the word embeddings, «for free» (Zhu, Cheng, Gan, Sun, Goldstein, Liu;
ICLR 2020, Algorithm 1).

A step makes K passes at x + δ, with one dropout mask. Each pass adds 1/K of its gradient to the weights, and
its gradient at the embeddings moves δ to the next point, so that K passes cost K passes:

    δ ← Π(δ + η·g/‖g‖),  δ_0 = U(−1, 1)·init/√(L·d)

with g = ∇_δ loss, norms of each example and Π the projection to ‖δ‖ ≤ radius. The last point is not moved any
more: K − 1 ascents, as in the authors' GLUE code.

Deviations. Sizes are shares of the distance of two random words of the encoder's own table. On the shipped
encoder they are the authors' MNLI setting (K 2, η 0.1, init 0.1), whose limit of 0.3 one ascent cannot reach:
there is none by default. Of questions they are InfoBERT's for SQuAD there (K 2, η 0.02, init 0.02, limit
0.04). With a limit, δ_0 is projected too. η and init grow over the first half of training (``warmup``): in
full from the first step, pairs of SNLI are not learned from the shipped encoder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from unfooled.attacks.image.ball import RADII
from unfooled.defences.parts.scale import fitted, risen
from unfooled.defences.session import Session, Step, Training, shaped_by
from unfooled.models import Model
from unfooled.models.ascent import Ascent, SameDraws, bounded, from_cube
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting

MOST_PASSES = 1000
SHARE = 0.065
"""η and init by the distance of two random words: 0.1 for the shipped encoder."""
PIXELS = {"step_size": RADII["l2"] / 2, "init": RADII["l2"] / 10}
"""The same for images: one ascent goes half as far as the default attack."""
QUESTION_SHARE = 0.013
"""The same for questions: 0.02; the limit is twice as large."""


@dataclass(frozen=True)
class FreeLB:
    """Several passes per step, each at a point that the gradient of the one before leads to."""

    name: ClassVar[str] = "freelb"
    summary: ClassVar[str] = "Trained where the loss at the embeddings is high, K passes (Zhu et al. 2020)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    deployed_as: ClassVar[str] = "plain"
    own_passes: ClassVar[bool] = True

    steps: int = setting(2, "Passes per training step (K); K − 1 ascents", at_least=1, at_most=MOST_PASSES)
    step_size: float | None = setting(
        None, "Length of an ascent step (η); fitted to the encoder if not given", at_least=0
    )
    init: float | None = setting(
        None, "Size of the first perturbation; fitted to the encoder if not given", at_least=0
    )
    radius: float | None = setting(
        None, "Limit of the norm of δ (ε) per example; none if not given, of questions fitted", at_least=0
    )
    warmup: float = setting(
        0.5, "Share of training over which the perturbations grow from nothing", at_least=0, at_most=1
    )

    def resolved(self, model: Model) -> FreeLB:
        asks = model.kind == "question"
        share = QUESTION_SHARE if asks else SHARE
        return replace(
            self,
            step_size=fitted(model, "step_size", self.step_size, share, PIXELS["step_size"]),
            init=fitted(model, "init", self.init, share, PIXELS["init"]),
            radius=fitted(model, "radius", self.radius, 2 * share) if asks else self.radius,
        )

    def begin(self, training: Training) -> FreeLBSession:
        return FreeLBSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()


class FreeLBSession(Session[FreeLB]):
    """K passes, each with the terms of its companions (InfoBERT), everything by K."""

    def __init__(self, training: Training, defence: FreeLB) -> None:
        super().__init__(training, defence)
        self.whole_from = defence.warmup

    def backward(self, batch: Any, step: Step) -> Tensor:
        own = self.defence
        assert own.step_size is not None and own.init is not None
        share = risen(step, own.warmup)
        ascent = Ascent(own.step_size * share, radius=own.radius)
        size = 0.0 if own.radius == 0 else own.init * share  # nothing is drawn: plain fine-tuning, to the bit
        start, bounds = self.model.start(batch).detach(), self.model.bounds
        delta = bounded(start, ascent.within(from_cube(start, batch, size)), bounds)
        dropout, losses = SameDraws(self.model.device), []
        for left in reversed(range(own.steps)):
            point = _Point(self, batch, step, delta.requires_grad_(left > 0), dropout)
            losses.append(step.accumulate(point.loss))
            if left:
                delta = bounded(start, ascent.climbed(delta.detach(), point.gradient, batch), bounds)
        return torch.stack(losses).sum()


class _Point:
    """One pass at x + δ."""

    def __init__(
        self, session: FreeLBSession, batch: Any, step: Step, delta: Tensor, dropout: SameDraws
    ) -> None:
        self.session, self.batch, self.step, self.delta = session, batch, step, delta
        self.dropout = dropout
        self._raised: Tensor | None = None

    def loss(self) -> Tensor:
        session = self.session
        with self.dropout():
            start = session.model.start(self.batch) + self.delta
            seen = session.look(self.batch, session.companions, start)
        self.step.note("task_loss", seen.task)
        added = session.added(seen, self.step, session.companions)
        task = shaped_by(session.companions, seen.task, self.step)
        if self.delta.requires_grad and not (added is seen.penalty and task is seen.task):
            # The adversary raises task loss and penalties. Other terms, and what was made of the task loss,
            # are in δ's gradient too, but must not steer it.
            self._raised = seen.gradient
        return (task if added is None else task + added) / session.defence.steps

    @property
    def gradient(self) -> Tensor:
        """Of task loss and penalties with respect to δ, up to a factor: from the pass that trained."""
        found = self.delta.grad if self._raised is None else self._raised
        assert found is not None
        return found
