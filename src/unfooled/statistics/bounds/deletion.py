"""Radii counted in edits under random deletion (RS-Del, Huang et al. 2023; CERT-ED, Huang et al. 2024).

Each word of a text x is deleted independently with probability p; the words that are left, in their order,
are all that the base classifier sees. μ(x) is the probability of the certified class. Let a words of x and b
words of x′ lie outside a longest common subsequence z of the two. Deleting all b of them (probability p^b)
leaves del(z), so μ(x′) ≥ p^b·μ(z); and μ(x) ≤ p^a·μ(z) + 1 − p^a. Together

    μ(x′) ≥ p^b·(μ(x) − 1 + p^a)/p^a.

The bound falls with a and with b. Of all ways to spend r edits, r replacements have a = b = r, the largest
of both; so r replacements are the worst case, and the radius for any edits is the one for replacements.
Texts that only gain words (a = 0) or only lose them (b = 0) keep more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import NumberOrArray, given_back, unit

MOST = 10_000
"""No radius is larger: whoever needs more edits than this has another text."""


def deletion_words(p_top: ArrayLike, rate: ArrayLike) -> NumberOrArray:
    """The largest r with p_top − 1 + rate^r > ½, at most 10,000.

    Guarantee: if each word is deleted independently with probability ``rate`` before the base classifier sees
    the rest, the majority answer is the same for every text in which at most r words were replaced. 0
    means that no change is covered; where ``p_top <= 1/2`` there is no answer either.
    """
    return _radius(p_top, rate, lambda top, p, r: p**r > Fraction(3, 2) - top)


def deletion_edits(p_top: ArrayLike, rate: ArrayLike) -> NumberOrArray:
    """The largest r such that every mix of r insertions, deletions and replacements leaves more than ½.

    Guarantee: as for :func:`deletion_words`, for every text made by at most r edits of any kind. The number
    is the same, since replacements are the worst mix (see the module's text).
    """
    return deletion_words(p_top, rate)


def deletion_insertions(p_top: ArrayLike, rate: ArrayLike) -> NumberOrArray:
    """The largest r with rate^r·p_top > ½: the same guarantee for texts that only gain up to r words."""
    return _radius(p_top, rate, lambda top, p, r: p**r * top > Fraction(1, 2))


def deletion_deletions(p_top: ArrayLike, rate: ArrayLike) -> NumberOrArray:
    """The largest r with 1 − (1 − p_top)/rate^r > ½: the same for texts that only lose up to r words."""
    return _radius(p_top, rate, lambda top, p, r: p**r > 2 * (1 - top))


def _radius(
    p_top: ArrayLike, rate: ArrayLike, holds: Callable[[Fraction, Fraction, int], bool]
) -> NumberOrArray:
    top, rates = unit("p_top", p_top), unit("rate", rate)
    if (rates >= 1).any():
        raise ValueError("rate must be below 1: at 1 every word is deleted and the answer says nothing.")

    def largest(p: float, share: float) -> int:
        # Bounds that were rounded up (0.9 for nine of ten) must not turn a tie into a certificate.
        exact, kept = Fraction(math.nextafter(p, 0.0)), Fraction(share)
        if exact <= Fraction(1, 2) or not holds(exact, kept, 1):
            return 0
        low, high = 1, 2  # holds at low
        while high <= MOST and holds(exact, kept, high):
            low, high = high, 2 * high
        high = min(high, MOST + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(exact, kept, middle) else (low, middle)
        return low

    return given_back(np.asarray(np.frompyfunc(largest, 2, 1)(top, rates), dtype=np.int64))
