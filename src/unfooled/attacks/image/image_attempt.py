"""One attack on one image: what it knows, what it may ask, what it has spent.

As for texts, a recipe is a generator that asks through its attempt, and the scheduler answers the requests
of many attempts together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unfooled.attacks.attempt import Request, Steps
from unfooled.attacks.budget import Budget
from unfooled.attacks.goals import Goal
from unfooled.attacks.image.ball import Ball, Norm
from unfooled.attacks.limits import Limits
from unfooled.attacks.victim import Answer, Asked, ImageArray, PixelGradient, derived_key
from unfooled.records.outcome import LimitHit

VOTES = 5
"""Answers of a randomised victim to one image, all of which must be wrong before a search ends.

A search asks about many images, so some of them are wrong three times of five by luck alone. It remembers
the one that was wrong most often and goes on: what it ends with shall hold on fresh noise.
"""


@dataclass(frozen=True)
class ImageExample:
    """One labelled image, ``pixels`` from 0 to 1, and the size of the attack on it (ε)."""

    row: int
    pixels: ImageArray
    label: int
    size: float
    shown: str = ""
    """The image in a line of text."""


@dataclass
class ImageAttempt(Budget):
    """State of one attack; recipes read it and ask through it."""

    example: ImageExample
    limits: Limits
    seed: int
    randomised: bool
    goal: Goal = field(init=False)
    first: Answer = field(init=False)
    """The answer to the untouched image."""
    queries: int = 0
    """Of the victim, answers and gradients."""
    gradients: int = 0
    """Gradient calls: of the victim, or of the model that a transfer attack crafts on."""
    forwards: int = 0
    seconds: float = 0.0
    limit_hit: LimitHit = ""
    search_over: bool = False
    tried: bool = False
    within: Ball | None = None
    """Where an image must lie to be remembered as ``best``; None: anywhere."""
    nearest: bool = False
    """Of images that fooled a randomised victim equally often, remember the first, not the last."""
    best: ImageArray | None = None
    """The image that fooled a randomised victim most often, if none did so every time."""
    best_votes: int = 0
    trying: str = ""
    """The recipe, of several, that searches now."""
    found_by: str = ""
    """The one that found the result."""

    def __post_init__(self) -> None:
        # The size is left out: attacks of all sizes see the same noise, so they agree on the first answer.
        self._key = derived_key(self.seed, self.example.row, _digest(self.image))
        self._drawn = 0
        self._answers: dict[bytes, Answer] = {}

    @property
    def image(self) -> ImageArray:
        return self.example.pixels

    def ball(self, norm: Norm) -> Ball:
        """The images that the attack may return, for the size of this attempt."""
        return Ball(norm, self.example.size)

    def generator(self, *key: int | str) -> np.random.Generator:
        """Random numbers that depend on the seed, the image and ``key`` alone."""
        return np.random.default_rng(derived_key(self._key, *key))

    def ask_original(self) -> Steps[Answer]:
        """The first query of every attack."""
        (self.first,) = yield from self._answered([self.image])
        return self.first

    def ask(self, image: ImageArray) -> Steps[Answer]:
        """The victim's answer; that of a fixed victim to an image it knows is not asked again."""
        self.check_budget()
        self.tried = True
        (answer,) = yield from self._answered([image])
        return answer

    def fooled(self, image: ImageArray) -> Steps[bool]:
        """Whether the image reaches the goal, for a randomised victim in most of several answers."""
        _, votes = yield from self.judged(image)
        return 2 * votes > VOTES

    def surely_fooled(self, image: ImageArray) -> Steps[bool]:
        """Whether the image reaches the goal, for a randomised victim in all of several answers."""
        _, votes = yield from self.judged(image)
        return votes == VOTES

    def judged(self, image: ImageArray) -> Steps[tuple[Answer, int]]:
        """The first answer, and how many of ``VOTES`` reach the goal; a fixed victim's are all alike.

        A randomised victim whose first answer is right is not asked again.
        """
        answer = yield from self.ask(image)
        if not self.goal.reached(answer):
            return answer, 0
        if not self.randomised:
            return answer, VOTES
        again = yield from self._answered([image] * (VOTES - 1))
        votes = 1 + sum(self.goal.reached(one) for one in again)
        if votes < VOTES:
            self._remember(image, votes)
        return answer, votes

    def _remember(self, image: ImageArray, votes: int) -> None:
        """Keep the image as the best one; the original itself is no success, however often it is wrong."""
        better = votes > self.best_votes or (votes == self.best_votes and not self.nearest)
        inside = self.within is None or self.within.holds(self.image, image)
        if better and inside and not np.array_equal(image, self.image):
            self.best, self.best_votes, self.found_by = image, votes, self.trying

    def fresh(self, image: ImageArray, count: int) -> Steps[list[Answer]]:
        """Independent answers to the same image, outside the query count."""
        answers: list[Answer] = yield Request("victim", tuple(self._asked(image) for _ in range(count)))
        return answers

    def slope(
        self, image: ImageArray, *, draws: int, loss: str, of: str = "gradients", target: int | None = None
    ) -> Steps[PixelGradient]:
        """The gradient at the pixels, averaged over ``draws`` fresh draws of the noise (EOT).

        ``target`` is the class that the loss compares with the true one; None: the best of the others.

        One of the victim counts as a query; one of the ``source`` of a transfer attack does not.
        """
        self.check_budget()
        options: tuple[tuple[str, Any], ...] = (("draws", draws), ("loss", loss))
        options += () if target is None else (("target", target),)
        (found,) = yield Request(of, ((self._asked(image), self.example.label),), options)
        self.gradients += 1
        if of == "gradients":
            self.queries += 1
            self.forwards += found.forwards
        result: PixelGradient = found
        return result

    def crafted(
        self, service: str, calls: int, draws: int, judges: int, **settings: Any
    ) -> Steps[ImageArray | None]:
        """What a library makes of the image in one go; None if it found nothing.

        It asks for ``calls`` gradients of ``draws`` draws each, and of a randomised victim for the mean of
        ``judges`` more as often.
        """
        self.check_budget()
        options = tuple(sorted({**settings, "draws": draws, "judges": judges}.items()))
        (found,) = yield Request(service, ((self._asked(self.image), self.example.label),), options)
        self.gradients += calls
        self.queries += calls
        self.forwards += calls * (draws + judges if self.randomised else 1)
        result: ImageArray | None = found
        return result

    def _answered(self, images: list[ImageArray]) -> Steps[list[Answer]]:
        self.queries += len(images)
        if not self.randomised and (known := self._answers.get(images[0].tobytes())) is not None:
            return [known]
        answers: list[Answer] = yield Request("victim", tuple(self._asked(image) for image in images))
        self.forwards += sum(answer.forwards for answer in answers)
        if not self.randomised:
            self._answers = {images[0].tobytes(): answers[0]}  # what a recipe ends with is asked about last
        return answers

    def _asked(self, image: ImageArray) -> Asked[ImageArray]:
        self._drawn += 1
        return Asked(image, derived_key(self._key, self._drawn))


def _digest(pixels: NDArray[Any]) -> int:
    return derived_key(pixels.tobytes().hex())
