"""C&W: the smallest Euclidean change that changes the answer, by optimisation (Carlini and Wagner 2017).

The optimisation is Foolbox's ``L2CarliniWagnerAttack``, run for every image to its end (its early abort looks
at the whole batch, so that the images beside one would change its result). Its result lies on the boundary;
it is moved outward, at most to ε, until the deployed victim, asked for its vote, is wrong.

Against a randomised victim every gradient is the mean over ``eot`` keyed draws, fresh at every step. Which
images count as wrong is decided by the mean over 32 other draws, the same at every step: of hundreds of means
of fresh draws some are wrong even at the original, and Foolbox keeps the nearest image that was ever wrong.

Deviations: 200 steps in 6 rounds of the search for the constant, not 10,000 in 9: enough for small images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unfooled.attacks.attempt import Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.image.ball import Norm
from unfooled.attacks.image.image_attempt import ImageAttempt
from unfooled.attacks.image.image_recipe import (
    EOT_HELP,
    EPS_HELP,
    MOST_DRAWS_A_STEP,
    MOST_STEPS,
    check_eps,
    steadied,
)
from unfooled.attacks.victim import ImageArray
from unfooled.errors import UsageError
from unfooled.settings import setting

JUDGES = 32
"""Draws by which it decides whether a randomised victim is wrong."""


@dataclass(frozen=True)
class CarliniWagner:
    """The nearest image with another answer, in the Euclidean norm."""

    name: ClassVar[str] = "cw-l2"
    does: ClassVar[str] = "knows the model and changes the image as little as it can"
    paper: ClassVar[str] = (
        "Carlini and Wagner 2017, S&P: Towards Evaluating the Robustness of Neural Networks"
    )
    reads: ClassVar[str] = "image"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "carlini")
    minimal: ClassVar[bool] = True
    version: ClassVar[int] = 2  # 1 took an image that one noisy pass got wrong for a success

    eps: float | None = setting(None, EPS_HELP, at_least=0)
    steps: int = setting(200, "Steps of the optimiser (Adam) in each round", at_least=1, at_most=MOST_STEPS)
    rounds: int = setting(6, "Rounds of the search for the constant c", at_least=1, at_most=100)
    step_size: float = setting(0.05, "Size of a step, in the space of tanh", at_least=1e-6)
    confidence: float = setting(0.0, "By how much the other logit must lead (κ)", at_least=0)
    first_constant: float = setting(0.01, "The constant c of the first round", at_least=1e-12)
    eot: int = setting(10, EOT_HELP, at_least=1, at_most=MOST_DRAWS_A_STEP)

    def __post_init__(self) -> None:
        check_eps(self.eps)

    @property
    def distance(self) -> Norm:
        return "l2"

    def cost(self) -> int:
        return self.steps * self.rounds * self.eot

    def search(self, attempt: ImageAttempt) -> Steps[ImageArray | None]:
        calls, budget = self.steps * self.rounds, attempt.limits.query_budget
        if calls > budget:
            raise UsageError(
                f"cw-l2 asks for {calls:,} gradients per image (steps × rounds), and --query-budget allows "
                f"{budget:,}. Raise it, or lower steps or rounds."
            )
        found = yield from attempt.crafted(
            "carlini",
            calls,
            self.eot,
            JUDGES,
            steps=self.steps,
            rounds=self.rounds,
            step_size=self.step_size,
            confidence=self.confidence,
            first_constant=self.first_constant,
        )
        ball = attempt.ball(self.distance)
        if found is None or ball.distance(attempt.image, found) == 0:
            slope = yield from attempt.slope(attempt.image, draws=self.eot, loss="margin")
            step = ball.radius / 10 / max(float(np.linalg.norm(slope.gradient.ravel())), 1e-12)
            found = attempt.image + step * slope.gradient
        return (yield from steadied(attempt, found, ball))
