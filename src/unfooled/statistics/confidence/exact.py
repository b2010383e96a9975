"""Clopper–Pearson bounds, one-sided: exact for a number of samples fixed before the first one is seen.

Looking at such a bound after every sample and stopping when it suits breaks its promise many times over;
for that there is :mod:`unfooled.statistics.confidence.sequence`. Lower bounds are rounded
down, upper ones up.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import Floats, Integers, NumberOrArray, given_back, level, whole

# SciPy's inverse of the incomplete beta function is off by up to 1e-8 for large samples, the function itself
# by 1e-11: the inverse is moved to the safe side by the smallest of these shares that the function confirms.
SLACKS = (2.0**-40, 2.0**-36, 2.0**-32, 2.0**-28, 2.0**-24, 2.0**-20, 2.0**-16)
FORWARD = 1e-10
ENDS = 2.0**-48  # for α^{1/n}


def clopper_pearson_lower(successes: ArrayLike, n: ArrayLike, alpha: float) -> NumberOrArray:
    """Guarantee: whatever p is, the bound exceeds it with probability at most α.

    It solves P(Binomial(n, bound) ≥ successes) = α: 0 for no success, α^{1/n} for n of n.
    """
    hits, trials = counts(successes, n)
    return given_back(_lower(hits, trials, level("alpha", alpha)))


def clopper_pearson_upper(successes: ArrayLike, n: ArrayLike, alpha: float) -> NumberOrArray:
    """Guarantee: whatever p is, the bound falls below it with probability at most α."""
    hits, trials = counts(successes, n)
    return given_back(_upper(hits, trials, level("alpha", alpha)))


def two_class_bounds(
    top_count: ArrayLike, other_counts: ArrayLike, n: ArrayLike, alpha: float
) -> tuple[NumberOrArray, NumberOrArray]:
    """A lower bound for the predicted class and an upper bound for every other one, α/2 each.

    ``other_counts`` is the largest count among the other classes, or, with one axis more than ``top_count``,
    the counts of all of them. They must come from the same n samples; the predicted class must have been
    chosen on other ones. The true runner-up's count is at most the largest, and the bound grows with the
    count, so no further correction is due for not knowing which class it is.

    Guarantee: both bounds hold at once with probability at least 1 − α. The second is cut at 1 − the first,
    which costs nothing. The alternative, all of α on ``p = clopper_pearson_lower(top_count, n, alpha)`` and
    ``1 - p`` for the rest, is the better one unless three or more classes share the votes.
    """
    others = whole("other_counts", other_counts)
    top = whole("top_count", top_count)
    largest, total = others, others
    if others.ndim == top.ndim + 1:
        if not others.shape[-1]:
            raise ValueError("other_counts must hold at least one class.")
        largest, total = others.max(axis=-1), others.sum(axis=-1)
    hits, trials = counts(top, n)
    if (hits + total > trials).any():
        raise ValueError("top_count and other_counts together must not exceed n.")
    share = level("alpha", alpha) / 2
    low = _lower(hits, trials, share)
    high = np.minimum(_upper(*counts(largest, n), share), np.nextafter(1 - low, 1.0))
    return given_back(low), given_back(high)


def counts(successes: ArrayLike, n: ArrayLike) -> tuple[Integers, Integers]:
    """Successes and trials, checked and broadcast."""
    hits, trials = np.broadcast_arrays(whole("successes", successes), whole("n", n))
    if (hits > trials).any():
        raise ValueError("successes must not exceed n.")
    return hits, trials


def _lower(hits: Integers, trials: Integers, alpha: float) -> Floats:
    misses = trials - hits
    # Solved for the smaller of p and 1 − p, whose digits a double can hold.
    few, bound = hits <= misses, np.empty(hits.shape)
    bound[few] = _few_at_least(hits[few], misses[few], alpha)
    bound[~few] = 1 - _few_at_most(misses[~few], hits[~few], alpha)
    unanimous = np.exp(math.log(alpha) / np.maximum(trials, 1)) * (1 - ENDS)
    return np.where(hits == 0, 0.0, np.where(misses == 0, unanimous, np.nextafter(bound, 0.0)))


def _upper(hits: Integers, trials: Integers, alpha: float) -> Floats:
    misses = trials - hits
    few, bound = hits <= misses, np.empty(hits.shape)
    bound[few] = _few_at_most(hits[few], misses[few], alpha)
    bound[~few] = 1 - _few_at_least(misses[~few], hits[~few], alpha)
    never = np.minimum(-np.expm1(math.log(alpha) / np.maximum(trials, 1)) * (1 + ENDS), 1.0)
    return np.where(misses == 0, 1.0, np.where(hits == 0, never, np.nextafter(bound, 1.0)))


def _few_at_least(hits: Integers, misses: Integers, alpha: float) -> Floats:
    """The p with P(Binomial(n, p) ≥ hits) = α, for 0 < hits < n, rounded down until the tail is within α."""
    from scipy.special import betainc, betaincinv

    a, b = np.maximum(hits, 1), np.maximum(misses, 0) + 1.0
    solved = betaincinv(a, b, alpha)
    bound, beyond = solved, np.ones(solved.shape, dtype=bool)
    for slack in SLACKS:
        bound = np.where(beyond, solved * (1 - slack), bound)
        beyond &= ~(betainc(a, b, bound) <= alpha * (1 - FORWARD))
        if not beyond.any():
            break
    return np.where(beyond, 0.0, bound)


def _few_at_most(hits: Integers, misses: Integers, alpha: float) -> Floats:
    """The p with P(Binomial(n, p) ≤ hits) = α, for 0 < hits < n, rounded up until the tail is within α."""
    from scipy.special import betaincc, betainccinv

    a, b = np.maximum(hits, 0) + 1.0, np.maximum(misses, 1)
    solved = betainccinv(a, b, alpha)
    bound, beyond = solved, np.ones(solved.shape, dtype=bool)
    for slack in SLACKS:
        bound = np.where(beyond, np.minimum(solved * (1 + slack), 1.0), bound)
        beyond &= ~(betaincc(a, b, bound) <= alpha * (1 - FORWARD))
        if not beyond.any():
            break
    return np.where(beyond, 1.0, bound)
