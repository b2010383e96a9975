"""Bounds for a probability that hold at every sample at once: Robbins' beta-binomial confidence sequence.

For the true p, ∫ likelihood(p') dπ(p') / likelihood(p) is a martingale that starts at 1; by Ville's
inequality it ever reaches 1/α with probability at most α. The values below successes/n for which it has
reached 1/α are excluded. π is Beta(1, ½), which leans towards 1, where certificates live; the upper
bound mirrors it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import Floats, Integers, NumberOrArray, given_back, level
from unfooled.statistics.confidence.exact import counts

PRIOR = (1.0, 0.5)  # of successes and failures
FARTHEST = 700.0  # of log-odds: p and 1 − p are still doubles


def sequence_lower(successes: ArrayLike, n: ArrayLike, alpha: float) -> NumberOrArray:
    """Guarantee: the probability that the bound exceeds p at *any* n is at most α.

    So the sampling may stop whenever it suits, and the largest bound seen so far is one too.
    """
    hits, trials = counts(successes, n)
    odds = _lowest_odds(hits, trials - hits, level("alpha", alpha))
    bound = np.where(odds > -FARTHEST, _down(1 / (1 + np.exp(-odds))), 0.0)
    return given_back(np.where(hits == 0, 0.0, bound))


def sequence_upper(successes: ArrayLike, n: ArrayLike, alpha: float) -> NumberOrArray:
    """Guarantee: the probability that the bound falls below p at *any* n is at most α."""
    hits, trials = counts(successes, n)
    odds = _lowest_odds(trials - hits, hits, level("alpha", alpha))
    tail = 1 / (1 + np.exp(odds))  # 1 − the failures' bound, with its digits
    return given_back(
        np.where((hits == trials) | (odds <= -FARTHEST), 1.0, np.minimum(tail * (1 + 2.0**-50), 1.0))
    )


@dataclass
class ConfidenceSequence:
    """A running lower and upper bound for one probability; each holds at all times with error α.

    >>> running = ConfidenceSequence(alpha=0.001)
    >>> running.update(98, 100).lower
    0.858...
    """

    alpha: float
    successes: int = field(default=0, init=False)
    n: int = field(default=0, init=False)
    lower: float = field(default=0.0, init=False)
    upper: float = field(default=1.0, init=False)

    def __post_init__(self) -> None:
        level("alpha", self.alpha)

    def update(self, successes: int, n: int) -> ConfidenceSequence:
        """Add a batch: ``successes`` of ``n`` new samples."""
        hits, trials = counts(successes, n)
        self.successes, self.n = self.successes + int(hits), self.n + int(trials)
        self.lower = max(self.lower, sequence_lower(self.successes, self.n, self.alpha))
        self.upper = min(self.upper, sequence_upper(self.successes, self.n, self.alpha))
        return self


def rounding(n: Integers) -> Floats:
    """More than the log-evidence of n samples can be wrong by, in nats."""
    size = n + 2.0
    return 2.0**-46 * size * np.log(size) + 1e-11


def _lowest_odds(hits: Integers, misses: Integers, alpha: float) -> Floats:
    """The log-odds below which every p is excluded, by bisection from below; −FARTHEST if there are none."""
    from scipy.special import betaln

    a, b = PRIOR
    needed = -math.log(alpha) + rounding(hits + misses)
    mixture = betaln(hits + a, misses + b) - betaln(a, b)

    def excluded(odds: Floats) -> np.ndarray:
        # −log p = log(1 + e^{−odds}) and −log(1 − p) = log(1 + e^{odds})
        return mixture + hits * np.logaddexp(0, -odds) + misses * np.logaddexp(0, odds) >= needed

    with np.errstate(divide="ignore"):  # the observed log-odds, up to where evidence falls
        high = np.clip(np.log(np.maximum(hits, 1e-300)) - np.log(misses), -FARTHEST, FARTHEST)
    low = np.full(high.shape, -FARTHEST)
    for _ in range(64):
        middle = (low + high) / 2
        out = excluded(middle)
        low, high = np.where(out, middle, low), np.where(out, high, middle)
    return low


def _down(p: Floats) -> Floats:
    return p * (1 - 2.0**-50)
