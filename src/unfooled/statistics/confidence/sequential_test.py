"""«Is p ≥ t?», asked after every batch of samples and answered as soon as the samples allow.

*Yes* is the certificate. Its evidence is the likelihood ratio of p' to t averaged over p' > t with the prior
Beta(1, ½): for every p ≤ t a supermartingale that starts at 1, so it ever reaches 1/α' with probability at
most α'. A quarter of α is kept for one Clopper–Pearson test at the last sample, which wins back most of what
a fixed sample would have certified. *No* is the mirror image at the looser rate ``futility``; it ends the
sampling, never certifies anything, and so has no part in α.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import Floats, Integers, NumberOrArray, given_back, level, whole
from unfooled.statistics.confidence.exact import counts
from unfooled.statistics.confidence.sequence import PRIOR, rounding

LAST_SHARE = 0.25  # of α, for the test at the last sample


class Verdict(enum.IntEnum):
    """To «is p ≥ t?». Numbers, so that arrays of answers compare with them."""

    NO = -1
    UNDECIDED = 0
    YES = 1


@dataclass
class SequentialDecision:
    """Decides whether p ≥ ``threshold``, looking at the counts as often as it likes.

    Guarantees: if p < threshold, *yes* is ever given with probability at most ``alpha``; if p ≥ threshold,
    *no* is ever given with probability at most ``futility``. Undecided after ``max_samples``
    certifies nothing. «Is the ℓ2 radius at least r?» is the threshold ``gaussian_l2_probability(r, sigma)``.

    >>> decision = SequentialDecision(0.84, alpha=0.001)
    >>> while decision.open:
    ...     decision.update(*draw(min(100, decision.remaining)))  # (successes, n) of fresh samples
    """

    threshold: float
    alpha: float
    futility: float = 0.05
    max_samples: int = 10_000
    successes: int = field(default=0, init=False)
    n: int = field(default=0, init=False)
    answer: Verdict = field(default=Verdict.UNDECIDED, init=False)

    def __post_init__(self) -> None:
        for name in ("threshold", "alpha", "futility"):
            level(name, getattr(self, name))
        whole("max_samples", self.max_samples, at_least=1)

    @property
    def remaining(self) -> int:
        return self.max_samples - self.n

    @property
    def open(self) -> bool:
        """Whether more samples could still bring an answer."""
        return self.answer is Verdict.UNDECIDED and self.remaining > 0

    def update(self, successes: int, n: int) -> Verdict:
        """Add a batch, ``successes`` of ``n`` new samples. An answer once given stands."""
        hits, trials = counts(successes, n)
        if int(trials) > self.remaining:
            raise ValueError(f"n must not exceed the {self.remaining} samples that remain, got {n}.")
        self.successes, self.n = self.successes + int(hits), self.n + int(trials)
        if self.answer is Verdict.UNDECIDED:
            self.answer = Verdict(self.answers(self.successes, self.n))
        return self.answer

    def answers(self, successes: ArrayLike, n: ArrayLike) -> NumberOrArray:
        """The answer at each pair of *running totals*, as integers: many inputs, or many moments, at once."""
        from scipy.special import betainc

        hits, trials = counts(successes, n)
        if (trials > self.max_samples).any():
            raise ValueError(f"n must not exceed max_samples, {self.max_samples}.")
        misses, t = trials - hits, self.threshold
        error = self.alpha * (1 - LAST_SHARE)
        yes = log_evidence(hits, misses, t, 1 - t) >= -math.log(error)
        tail = betainc(np.maximum(hits, 1), misses + 1.0, t)  # P(Binomial(n, t) ≥ hits)
        last = (trials == self.max_samples) & (hits > 0) & (tail * (1 + 1e-9) <= self.alpha * LAST_SHARE)
        no = log_evidence(misses, hits, 1 - t, t) >= -math.log(self.futility)
        return given_back(np.where(yes | last, Verdict.YES, np.where(no, Verdict.NO, Verdict.UNDECIDED)))


def log_evidence(hits: Integers, misses: Integers, t: float, complement: float) -> Floats:
    """log of the likelihood ratio to t, averaged over the prior above t; rounded down."""
    from scipy.special import betaincc, betaln

    a, b = PRIOR
    with np.errstate(divide="ignore"):  # no mass above t: no evidence
        ratio = (
            betaln(hits + a, misses + b)
            + np.log(betaincc(hits + a, misses + b, t))
            - (betaln(a, b) + np.log(betaincc(a, b, t)))
            - hits * math.log(t)
            - misses * math.log(complement)
        )
    return ratio - rounding(hits + misses)
