"""PGD: steps along the gradient of the loss, projected to a ball (Madry et al., ICLR 2018).

Against a randomised victim every gradient is the mean over ``eot`` fresh draws of its own noise, masks
included (Athalye et al. 2018; Li et al. 2019 §6.2: 10 draws, 20 steps). The step is the one that
adversarial training takes (``unfooled.models.ascent``).

Ours and not Foolbox's: there random starts come from one generator for the whole batch, so that an image's
result would depend on the images beside it, and the noise could not be keyed. On a fixed victim without
random starts the two give the same images (a test compares them).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

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
    check_eps,
)
from unfooled.attacks.victim import ImageArray
from unfooled.settings import setting

if TYPE_CHECKING:
    from unfooled.models.ascent import Ascent


@dataclass(frozen=True)
class GradientSteps(ABC):
    """What PGD in both norms and transfer attacks share."""

    reads: ClassVar[str] = "image"
    goal: ClassVar[GoalName] = "fickle"
    minimal: ClassVar[bool] = False
    version: ClassVar[int] = 2  # 1 ended at the first image that most of five answers got wrong
    slopes: ClassVar[str] = "gradients"
    """The service that gives gradients."""

    eps: float | None = setting(None, EPS_HELP, at_least=0)
    steps: int = setting(20, "Steps", at_least=1, at_most=MOST_STEPS)
    step_size: float | None = setting(None, "Size of a step; 2.5·ε/steps if not given", at_least=0)
    restarts: int = setting(
        1, "Searches, each from another random point of the ball", at_least=1, at_most=1000
    )
    random_start: bool = setting(True, "Begin at a random point of the ball, not at the image")
    eot: int = setting(10, EOT_HELP, at_least=1, at_most=MOST_DRAWS_A_STEP)
    loss: Literal["ce", "margin"] = setting(
        "ce", "What rises: ce (cross-entropy) or margin (best other logit less that of the true class)"
    )

    def __post_init__(self) -> None:
        check_eps(self.eps)

    @property
    @abstractmethod
    def distance(self) -> Norm:
        """What is limited by ``eps``."""

    def cost(self) -> int:
        return self.restarts * self.steps * self.eot

    def search(self, attempt: ImageAttempt) -> Steps[ImageArray | None]:
        for restart in range(self.restarts):
            found = yield from self._climb(attempt, restart)
            if found is not None:
                return found
        return None

    def _climb(self, attempt: ImageAttempt, restart: int) -> Steps[ImageArray | None]:
        """One search: the victim is asked wherever the gradient's own pass was wrong, and at the end.

        A randomised victim must be wrong every time for the search to end: steps go on into the other class.
        """
        ball = attempt.ball(self.distance)
        image = self._start(attempt, ball, restart)
        for step in range(self.steps):
            slope = yield from attempt.slope(image, draws=self.eot, loss=self.loss, of=self.slopes)
            wrong = step and self.slopes == "gradients" and slope.label != attempt.example.label
            if wrong and (yield from attempt.surely_fooled(image)):
                return image
            image = self._moved(attempt.image, image, slope.gradient, ball)
        return image if (yield from attempt.surely_fooled(image)) else None

    def _start(self, attempt: ImageAttempt, ball: Ball, restart: int) -> ImageArray:
        if not self.random_start:
            return attempt.image
        random = attempt.generator("start", restart)
        if ball.norm == "linf":
            change = random.uniform(-1, 1, attempt.image.shape)
        else:  # uniform in the Euclidean ball
            change = random.standard_normal(attempt.image.shape)
            change *= random.uniform() ** (1 / change.size) / np.sqrt(np.square(change).sum())
        return ball.nearest(attempt.image, (attempt.image + ball.radius * change).astype(np.float32))

    def _moved(self, original: ImageArray, image: ImageArray, gradient: ImageArray, ball: Ball) -> ImageArray:
        import torch

        from unfooled.models.ascent import bounded

        start, now, up = (torch.from_numpy(one)[None] for one in (original, image, gradient))
        delta = self._ascent(ball).climbed(now - start, up)
        moved: ImageArray = (start + bounded(start, delta, (0.0, 1.0)))[0].numpy()
        return ball.nearest(original, moved)

    def _ascent(self, ball: Ball) -> Ascent:
        from unfooled.models.ascent import Ascent

        size = 2.5 * ball.radius / self.steps if self.step_size is None else self.step_size
        return Ascent(size, "sign" if ball.norm == "linf" else "l2", ball.radius)


@dataclass(frozen=True)
class PgdLinf(GradientSteps):
    """Steps by the signs of the gradient; no pixel changes by more than ε."""

    name: ClassVar[str] = "pgd-linf"
    does: ClassVar[str] = "knows the model and changes every pixel a little"
    paper: ClassVar[str] = (
        "Madry et al. 2018, ICLR: Towards Deep Learning Models Resistant to Adversarial Attacks"
    )
    needs: ClassVar[tuple[str, ...]] = ("gradients",)

    @property
    def distance(self) -> Norm:
        return "linf"


@dataclass(frozen=True)
class PgdL2(GradientSteps):
    """Steps along the gradient; the Euclidean norm of all changes is at most ε."""

    name: ClassVar[str] = "pgd-l2"
    does: ClassVar[str] = "knows the model and changes the pixels a little"
    paper: ClassVar[str] = "Madry et al. 2018, ICLR, in the Euclidean ball"
    needs: ClassVar[tuple[str, ...]] = ("gradients",)

    @property
    def distance(self) -> Norm:
        return "l2"
