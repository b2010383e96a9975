"""The boundary attack: a random walk along the decision boundary, by answers alone (Brendel et al. 2018).

It begins at an image that the victim gets wrong (noise, an inverted or a flat one), moves to the boundary by
bisection, and then takes random steps on the sphere around the original and steps towards it, keeping what is
still wrong. Both step sizes follow the share of steps that are kept, as in the paper. A randomised victim
answers each query with its vote, and a step is kept if most of several votes are wrong; the walk ends further
out on its line, where all of them are.

Ours and not Foolbox's: there one generator draws for the whole batch. Here each image has its own, and the
queries of many images are pooled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unfooled.attacks.attempt import Steps
from unfooled.attacks.budget import BudgetSpent
from unfooled.attacks.goals import GoalName
from unfooled.attacks.image.ball import Norm
from unfooled.attacks.image.image_attempt import ImageAttempt
from unfooled.attacks.image.image_recipe import EPS_HELP, MOST_STEPS, check_eps, steadied
from unfooled.attacks.victim import ImageArray
from unfooled.settings import setting

BISECTIONS = 12
CHECKED_EVERY = 5
"""Steps after which the step on the sphere is asked about alone."""
WATCHED = 20
"""Answers over which shares of kept steps are counted."""
FACTOR = 1.5
SMALLEST = 1e-6
"""Step towards the original at which the walk has converged."""


@dataclass(frozen=True)
class Boundary:
    """A walk along the boundary towards the original."""

    name: ClassVar[str] = "boundary"
    does: ClassVar[str] = "sees answers only and changes the image as little as it can"
    paper: ClassVar[str] = "Brendel et al. 2018, ICLR: Decision-Based Adversarial Attacks"
    reads: ClassVar[str] = "image"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ()
    minimal: ClassVar[bool] = True
    version: ClassVar[int] = 2  # 1 ended at the first image that most of five answers got wrong

    eps: float | None = setting(None, EPS_HELP, at_least=0)
    steps: int = setting(1000, "Steps of the walk, one or two queries each", at_least=0, at_most=MOST_STEPS)
    starts: int = setting(20, "Noise images tried as the start, at most", at_least=0, at_most=10_000)
    sphere_step: float = setting(0.01, "First step on the sphere, by the distance", at_least=1e-9, at_most=1)
    source_step: float = setting(
        0.01, "First step to the original, by the distance", at_least=1e-9, at_most=1
    )

    def __post_init__(self) -> None:
        check_eps(self.eps)

    @property
    def distance(self) -> Norm:
        return "l2"

    def cost(self) -> int:
        return self.steps + self.starts + BISECTIONS

    def search(self, attempt: ImageAttempt) -> Steps[ImageArray | None]:
        start = yield from self._start(attempt)
        if start is None:
            return None
        best = start
        try:
            best = yield from self._bisected(attempt, start)
            walk = _Walk(self, attempt, best)
            try:
                yield from walk.on()
            finally:
                best = walk.best
            return (yield from steadied(attempt, best, attempt.ball(self.distance)))
        except BudgetSpent:
            return best  # what was found before the budget ended

    def _start(self, attempt: ImageAttempt) -> Steps[ImageArray | None]:
        for image in self._candidates(attempt):
            if (yield from attempt.fooled(image)):
                return image
        return None

    def _candidates(self, attempt: ImageAttempt) -> Iterator[ImageArray]:
        own, random = attempt.image, attempt.generator("start")
        for _ in range(self.starts):
            yield random.uniform(size=own.shape).astype(np.float32)
        yield 1 - own
        for grey in (0.0, 1.0, 0.5):
            yield np.full_like(own, grey)
        yield own[:, ::-1, ::-1].copy()

    def _bisected(self, attempt: ImageAttempt, start: ImageArray) -> Steps[ImageArray]:
        """The point of the line to the original where the answer changes, on the wrong side."""
        right, wrong, found = 0.0, 1.0, start
        for _ in range(BISECTIONS):
            middle = (right + wrong) / 2
            image = (attempt.image + middle * (start - attempt.image)).astype(np.float32)
            if (yield from attempt.fooled(image)):
                wrong, found = middle, image
            else:
                right = middle
        return found


class _Walk:
    """The walk from ``best``, which only ever comes nearer to the original."""

    def __init__(self, settings: Boundary, attempt: ImageAttempt, best: ImageArray) -> None:
        self.best = best
        self._attempt, self._settings = attempt, settings
        self._random = attempt.generator("walk")
        self._sphere, self._source = settings.sphere_step, settings.source_step
        self._kept_on_sphere: deque[bool] = deque(maxlen=WATCHED)
        self._kept: deque[bool] = deque(maxlen=WATCHED)

    def on(self) -> Steps[None]:
        attempt = self._attempt
        for step in range(self._settings.steps):
            on_sphere, candidate = self._proposed()
            if step % CHECKED_EVERY == 0:
                self._kept_on_sphere.append((yield from attempt.fooled(on_sphere)))
            wrong = yield from attempt.fooled(candidate)
            self._kept.append(wrong)
            if wrong and self._far(candidate) < self._far(self.best):
                self.best = candidate
            self._adapt()
            if self._source < SMALLEST:
                return

    def _far(self, image: ImageArray) -> float:
        return float(np.linalg.norm((image.astype(np.float64) - self._attempt.image).ravel()))

    def _proposed(self) -> tuple[ImageArray, ImageArray]:
        """A point on the sphere around the original, and one a step nearer."""
        own = self._attempt.image
        to_own = own.astype(np.float64) - self.best
        far = max(float(np.linalg.norm(to_own.ravel())), 1e-12)
        eta = self._random.standard_normal(own.shape)
        eta -= (eta * to_own).sum() / far**2 * to_own
        eta *= self._sphere * far / max(float(np.linalg.norm(eta.ravel())), 1e-12)
        on_sphere = np.clip(own + (eta - to_own) / np.sqrt(1 + self._sphere**2), 0, 1)
        nearer = own - on_sphere
        now = max(float(np.linalg.norm(nearer.ravel())), 1e-12)
        length = max(0.0, self._source * far + now - far) / now
        candidate = np.clip(on_sphere + length * nearer, 0, 1)
        return on_sphere.astype(np.float32), candidate.astype(np.float32)

    def _adapt(self) -> None:
        """Larger steps where most are kept, smaller ones where few are; the boundary is flat up close."""
        if len(self._kept_on_sphere) == WATCHED:
            share = sum(self._kept_on_sphere) / WATCHED
            if share > 0.5 or share < 0.2:
                factor = FACTOR if share > 0.5 else 1 / FACTOR
                self._sphere = min(1.0, self._sphere * factor)
                self._source = min(1.0, self._source * factor)
                self._kept_on_sphere.clear()
        if len(self._kept) == WATCHED:
            share = sum(self._kept) / WATCHED
            if share > 0.25 or share < 0.1:
                self._source = min(1.0, self._source * (FACTOR if share > 0.25 else 1 / FACTOR))
                self._kept.clear()
