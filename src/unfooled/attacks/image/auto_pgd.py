"""APGD: PGD that chooses its own step size (Croce and Hein 2020, Algorithm 1), in two of AutoAttack's forms.

``apgd-ce`` raises the cross-entropy. ``apgd-t`` takes one class after another as its target, the most likely
first, and raises the difference-of-logits ratio (DLR, Eq. 6), which no scale of the logits can flatten. Steps
have momentum and begin at 2ε. At checkpoints, which come ever sooner, the step is halved and the search goes
back to its best point, unless most steps raised the loss. Against a randomised victim gradient and loss are
means over ``eot`` fresh draws of its noise.

Deviations: the victim is asked as soon as the gradient's own pass is wrong, and a success ends the search (of
a randomised victim, one that all of five answers confirm; else the search goes on and keeps the best image).
Back at the best point the momentum is 0. The DLR of a target needs four classes: with three the fourth logit,
with two the ratio is left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unfooled.attacks.attempt import Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.image.ball import Ball, Norm
from unfooled.attacks.image.image_attempt import ImageAttempt
from unfooled.attacks.image.image_recipe import (
    EOT_HELP,
    EPS_HELP,
    MOST_DRAWS_A_STEP,
    MOST_STEPS,
    NORM_HELP,
    check_eps,
)
from unfooled.attacks.victim import ImageArray, PixelGradient
from unfooled.settings import setting

MOMENTUM = 0.75
"""Share of the new step (α)."""
FIRST_CHECK, SOONER, SOONEST = 0.22, 0.03, 0.06
"""Of all steps: those until the first checkpoint, how much sooner each next one comes, and at the soonest."""


@dataclass(frozen=True)
class AutoPgd(ABC):
    """What both forms share."""

    name: ClassVar[str]
    reads: ClassVar[str] = "image"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("gradients",)
    minimal: ClassVar[bool] = False
    version: ClassVar[int] = 2  # 1 ended at the first image that most of five answers got wrong
    loss: ClassVar[str]

    norm: Norm = setting("linf", NORM_HELP)
    eps: float | None = setting(None, EPS_HELP, at_least=0)
    steps: int = setting(100, "Steps of each search", at_least=1, at_most=MOST_STEPS)
    restarts: int = setting(
        1, "Searches, each from another random point of the ball", at_least=1, at_most=1000
    )
    rho: float = setting(
        0.75, "Halve the step unless more than this share of steps raised the loss (ρ)", at_least=0, at_most=1
    )
    eot: int = setting(10, EOT_HELP, at_least=1, at_most=MOST_DRAWS_A_STEP)

    def __post_init__(self) -> None:
        check_eps(self.eps)

    @property
    def distance(self) -> Norm:
        return self.norm

    @abstractmethod
    def targets_of(self, attempt: ImageAttempt, scores: Sequence[float]) -> list[int | None]:
        """The classes that are searched for, one after another; None: any other."""

    def search(self, attempt: ImageAttempt) -> Steps[ImageArray | None]:
        scores = yield from self._scores(attempt)
        for restart in range(self.restarts):
            for target in self.targets_of(attempt, scores):
                found = yield from self._climb(attempt, target, restart)
                if found is not None:
                    return found
        return None

    def _scores(self, attempt: ImageAttempt) -> Steps[tuple[float, ...]]:
        """How likely each class is: a vote gives most classes no share at all, mean probabilities do."""
        if not (self.loss == "dlr" and attempt.randomised and len(attempt.first.scores) > 2):
            return attempt.first.scores
        return (yield from attempt.slope(attempt.image, draws=self.eot, loss="ce")).scores

    def _climb(self, attempt: ImageAttempt, target: int | None, restart: int) -> Steps[ImageArray | None]:
        ball, right = attempt.ball(self.norm), attempt.example.label
        climb = _Climb(ball, attempt.image, self._start(attempt, ball, target, restart), self)
        for first in (True, *[False] * self.steps):
            image = climb.image if first else climb.moved()
            slope = yield from attempt.slope(image, draws=self.eot, loss=self.loss, target=target)
            if slope.label != right and (yield from attempt.surely_fooled(image)):
                return image
            climb.take(slope)
        return climb.best if (yield from attempt.surely_fooled(climb.best)) else None

    def _start(self, attempt: ImageAttempt, ball: Ball, target: int | None, restart: int) -> ImageArray:
        """A random point on the surface of the ball."""
        random = attempt.generator(self.name, restart, -1 if target is None else target)
        shape = attempt.image.shape
        change = random.uniform(-1, 1, shape) if self.norm == "linf" else random.standard_normal(shape)
        size = np.abs(change).max() if self.norm == "linf" else np.sqrt(np.square(change).sum())
        return ball.nearest(attempt.image, (attempt.image + ball.radius / size * change).astype(np.float32))


class _Climb:
    """One search: where it is, the best point so far, and the size of its steps."""

    def __init__(self, ball: Ball, original: ImageArray, start: ImageArray, settings: AutoPgd) -> None:
        self.image = self.best = self._before = start
        self._ball, self._original, self._rho = ball, original, settings.rho
        self._size = 2 * ball.radius
        self._checks = _checkpoints(settings.steps)
        self._until = next(self._checks)
        self._taken = self._rises = 0
        self._loss = self._best_loss = self._checked_loss = -np.inf
        self._halved = True
        self._up = self._best_up = np.zeros_like(original)

    def moved(self) -> ImageArray:
        """The next point: a step along the gradient, projected, mixed with the step before, projected."""
        new = MOMENTUM if self._before is not self.image else 1.0
        plain = self._nearest(self.image + self._size * self._direction())
        mixed = self.image + new * (plain - self.image) + (1 - new) * (self.image - self._before)
        self._before, self.image = self.image, self._nearest(mixed)
        return self.image

    def take(self, slope: PixelGradient) -> None:
        """Loss and gradient at the present point; at a checkpoint the step may be halved."""
        first = self._best_loss == -np.inf
        self._rises += slope.loss > self._loss
        self._loss, self._up = slope.loss, slope.gradient
        if first or slope.loss > self._best_loss:
            self.best, self._best_up, self._best_loss = self.image, self._up, slope.loss
        if first:
            self._rises, self._checked_loss = 0, slope.loss
            return
        self._taken += 1
        if self._taken == self._until:
            self._check()

    def _check(self) -> None:
        stuck = not self._halved and self._best_loss <= self._checked_loss
        self._halved = stuck or self._rises <= self._rho * self._taken
        if self._halved:
            self._size /= 2
            self.image = self._before = self.best
            self._up, self._loss = self._best_up, self._best_loss
        self._checked_loss = self._best_loss
        self._taken = self._rises = 0
        self._until = next(self._checks)

    def _direction(self) -> ImageArray:
        if self._ball.norm == "linf":
            signs: ImageArray = np.sign(self._up)
            return signs
        by_largest = self._up / max(float(np.abs(self._up).max()), float(np.finfo(np.float32).tiny))
        found: ImageArray = by_largest / max(float(np.sqrt(np.square(by_largest).sum())), 1e-12)
        return found

    def _nearest(self, image: ImageArray) -> ImageArray:
        return self._ball.nearest(self._original, image.astype(np.float32))


def _checkpoints(steps: int) -> Iterator[int]:
    """Steps from each checkpoint to the next."""
    now, soonest = max(int(FIRST_CHECK * steps), 1), max(int(SOONEST * steps), 1)
    while True:
        yield now
        now = max(now - max(int(SOONER * steps), 1), soonest)


@dataclass(frozen=True)
class ApgdCe(AutoPgd):
    """APGD that raises the cross-entropy."""

    name: ClassVar[str] = "apgd-ce"
    paper: ClassVar[str] = "Croce and Hein 2020, ICML: Reliable Evaluation of Adversarial Robustness"
    does: ClassVar[str] = "knows the model and changes the pixels a little, in steps that find their own size"
    loss: ClassVar[str] = "ce"

    def cost(self) -> int:
        return self.restarts * (self.steps + 1) * self.eot

    def targets_of(self, attempt: ImageAttempt, scores: Sequence[float]) -> list[int | None]:
        return [None]


@dataclass(frozen=True)
class ApgdT(AutoPgd):
    """APGD with one target class after another and the difference-of-logits ratio."""

    name: ClassVar[str] = "apgd-t"
    paper: ClassVar[str] = "Croce and Hein 2020, ICML: the targeted form, with the DLR loss"
    does: ClassVar[str] = "knows the model and tries each other class in turn, with steps of their own size"
    loss: ClassVar[str] = "dlr"

    targets: int = setting(
        9, "Classes that are tried as targets, the most probable first", at_least=1, at_most=1000
    )

    def cost(self) -> int:
        return self.restarts * self.targets * (self.steps + 1) * self.eot

    def targets_of(self, attempt: ImageAttempt, scores: Sequence[float]) -> list[int | None]:
        right = attempt.example.label
        others = [label for label in range(len(scores)) if label != right]
        return list(sorted(others, key=lambda label: -scores[label])[: self.targets])
