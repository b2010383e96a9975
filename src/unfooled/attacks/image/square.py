"""Square: random search with squares of pixels, by the victim's scores alone (Andriushchenko et al. 2020).

Every query changes the pixels of one square to the edge of the ball, and is kept if the true class does not
gain; squares get smaller as in the paper's schedule. In ℓ∞ a square has one colour (Algorithm 2); in ℓ2 it is
a bump whose budget is taken from another square (Algorithm 3). No gradient is used, so masked ones do not
mislead it. A randomised victim's score is the share of its vote.

Deviations: 1,000 queries, not 5,000 or more; scores are probabilities as the victim gives them, and a change
that keeps the score is kept too: rounded scores of a sure victim are flat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unfooled.attacks.attempt import Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.image.ball import Ball, Norm
from unfooled.attacks.image.image_attempt import VOTES, ImageAttempt
from unfooled.attacks.image.image_recipe import EPS_HELP, MOST_STEPS, NORM_HELP, check_eps
from unfooled.attacks.victim import Answer, ImageArray
from unfooled.settings import setting

HALVED_AFTER = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)
"""Queries, of 10,000, after which the share of pixels is halved."""
PixelChange = NDArray[np.float64]


@dataclass(frozen=True)
class Square:
    """Squares at random places, kept where they help."""

    name: ClassVar[str] = "square"
    paper: ClassVar[str] = "Andriushchenko et al. 2020, ECCV: Square Attack"
    does: ClassVar[str] = "sees scores only and changes squares of the image"
    reads: ClassVar[str] = "image"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ()
    minimal: ClassVar[bool] = False
    version: ClassVar[int] = 2  # 1 ended at the first image that most of five answers got wrong

    norm: Norm = setting("linf", NORM_HELP)
    eps: float | None = setting(None, EPS_HELP, at_least=0)
    queries: int = setting(1000, "Queries of each search", at_least=1, at_most=MOST_STEPS)
    restarts: int = setting(1, "Searches, each from other stripes", at_least=1, at_most=1000)
    first_share: float = setting(0.8, "Share of the pixels in the first square (p)", at_least=1e-6, at_most=1)

    def __post_init__(self) -> None:
        check_eps(self.eps)

    @property
    def distance(self) -> Norm:
        return self.norm

    def cost(self) -> int:
        return self.restarts * self.queries

    def search(self, attempt: ImageAttempt) -> Steps[ImageArray | None]:
        for restart in range(self.restarts):
            found = yield from self._walk(attempt, attempt.generator(self.name, restart))
            if found is not None:
                return found
        return None

    def _walk(self, attempt: ImageAttempt, random: np.random.Generator) -> Steps[ImageArray | None]:
        ball, right = attempt.ball(self.norm), attempt.example.label
        own = attempt.image.astype(np.float64)
        kept, least = attempt.image, math.inf
        for query in range(self.queries):
            side = self.side(query, own.shape)
            if query == 0:
                change = _stripes(own, ball, random) if self.norm == "linf" else _bumps(own, random)
            elif self.norm == "linf":
                change = _square(kept - own, ball, side, random)
            else:
                change = _moved_budget(kept - own, ball, side, random)
            if self.norm == "l2":
                change *= ball.radius / max(_length(change), 1e-12)
            candidate = ball.nearest(attempt.image, (own + change).astype(np.float32))
            answer, votes = yield from attempt.judged(candidate)
            if votes == VOTES:
                return candidate
            if (lead := _lead(answer, right)) <= least:
                kept, least = candidate, lead
        return None

    def side(self, query: int, shape: tuple[int, ...]) -> int:
        """The side of the square of this query."""
        scaled = query / self.queries * 10_000
        share = self.first_share / 2 ** sum(scaled > after for after in HALVED_AFTER)
        side = round(math.sqrt(share * shape[1] * shape[2]))
        return int(min(max(side, 1 if self.norm == "linf" else 3), *shape[1:]))


def _lead(answer: Answer, right: int) -> float:
    """By how much the true class leads, as a ratio of scores in logarithms."""
    scores = np.maximum(np.array(answer.scores, dtype=np.float64), 1e-12)
    return float(np.log(scores[right]) - np.log(np.delete(scores, right).max()))


def _length(change: PixelChange) -> float:
    return float(np.sqrt(np.square(change).sum()))


def _signs(random: np.random.Generator, *shape: int) -> PixelChange:
    found: PixelChange = np.where(random.integers(0, 2, shape) == 1, 1.0, -1.0)
    return found


def _stripes(own: PixelChange, ball: Ball, random: np.random.Generator) -> PixelChange:
    channels, height, width = own.shape
    return np.repeat(ball.radius * _signs(random, channels, 1, width), height, axis=1)


def _window(shape: tuple[int, ...], side: int, random: np.random.Generator) -> tuple[slice, slice, slice]:
    top, left = (int(random.integers(0, size - side + 1)) for size in shape[1:])
    return slice(None), slice(top, top + side), slice(left, left + side)


def _square(change: PixelChange, ball: Ball, side: int, random: np.random.Generator) -> PixelChange:
    """The change with one square of one colour at the edge of the ball."""
    changed = change.copy()
    changed[_window(change.shape, side, random)] = ball.radius * _signs(random, len(change), 1, 1)
    return changed


def _bumps(own: PixelChange, random: np.random.Generator) -> PixelChange:
    """A grid of five by five bumps, as far as the image has room."""
    channels, height, width = own.shape
    side = max(min(height, width) // 5, 1)
    change = np.zeros_like(own)
    for top in range(0, height - side + 1, side):
        for left in range(0, width - side + 1, side):
            change[:, top : top + side, left : left + side] = _bump(side, random) * _signs(
                random, channels, 1, 1
            )
    return change


def _moved_budget(change: PixelChange, ball: Ball, side: int, random: np.random.Generator) -> PixelChange:
    """A bump added in one window, with the budget of another window, which is emptied, and what is unused."""
    changed = change.copy()
    into, emptied = (_window(change.shape, side, random) for _ in range(2))
    both = np.zeros(change.shape, dtype=bool)
    both[into] = both[emptied] = True
    unused = max(ball.radius**2 - _length(change) ** 2, 0.0)
    budget = np.sqrt(unused / len(change) + np.square(change * both).sum(axis=(1, 2), keepdims=True))
    before = change[into]
    bump = _bump(side, random) * _signs(random, len(change), 1, 1)
    bump = bump + before / np.maximum(np.sqrt(np.square(before).sum(axis=(1, 2), keepdims=True)), 1e-12)
    lengths = np.maximum(np.sqrt(np.square(bump).sum(axis=(1, 2), keepdims=True)), 1e-12)
    changed[emptied] = 0
    changed[into] = bump / lengths * budget
    return changed


def _bump(side: int, random: np.random.Generator) -> PixelChange:
    """Two halves of opposite sign, each highest in its middle, of length 1; lying or standing."""
    half = side // 2
    found = np.concatenate([_hill(half, side), -_hill(side - half, side)])
    found /= max(_length(found), 1e-12)
    return found.T if random.integers(0, 2) else found


def _hill(height: int, width: int) -> PixelChange:
    """Rises to the middle (Eq. 2): Σ 1/(k + 1)² over the rings k that do not lie inside a pixel's own."""
    rows, columns = np.abs(np.arange(height) - height // 2), np.abs(np.arange(width) - width // 2)
    ring = np.maximum(rows[:, None], columns[None, :])
    rings = 1 / np.square(np.arange(max(height, width) // 2 + 1) + 1.0)
    found: PixelChange = rings[::-1].cumsum()[::-1][ring]
    return found
