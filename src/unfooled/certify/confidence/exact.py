"""Clopper–Pearson bounds, one-sided: exact for a number of samples fixed before the first one is seen.

Looking at such a bound after every sample and stopping when it suits breaks its promise many times over;
for that there is :mod:`unfooled.certify.confidence.sequence`. Lower bounds are rounded down, upper ones up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unfooled.certify.inputs import Floats, Integers, given_back, level, whole

SLACK = 2.0**-40  # relative; wider than the error of SciPy's inverse incomplete beta function


def clopper_pearson_lower(successes: ArrayLike, n: ArrayLike, alpha: float) -> Any:
    """Guarantee: whatever p is, the bound exceeds it with probability at most α.

    It solves P(Binomial(n, bound) ≥ successes) = α: 0 for no success, α^{1/n} for n of n.
    """
    hits, trials = counts(successes, n)
    return given_back(_lower(hits, trials, level("alpha", alpha)))


def clopper_pearson_upper(successes: ArrayLike, n: ArrayLike, alpha: float) -> Any:
    """Guarantee: whatever p is, the bound falls below it with probability at most α."""
    hits, trials = counts(successes, n)
    return given_back(_upper(hits, trials, level("alpha", alpha)))


def two_class_bounds(
    top_count: ArrayLike, other_counts: ArrayLike, n: ArrayLike, alpha: float
) -> tuple[Any, Any]:
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
    from scipy.special import betainccinv, betaincinv

    k, m = np.maximum(hits, 1), np.maximum(trials - hits, 1)  # the ends are put right below
    # Each half is solved for the smaller of p and 1 − p, whose digits a double can hold.
    bound = np.where(
        k <= m,
        betaincinv(k, m + 1.0, alpha) * (1 - SLACK),
        1 - betainccinv(m + 1.0, k, alpha) * (1 + SLACK),
    )
    unanimous = np.exp(math.log(alpha) / np.maximum(trials, 1))
    bound = np.nextafter(np.where(hits == trials, unanimous, bound), 0.0)
    return np.where(hits == 0, 0.0, bound)


def _upper(hits: Integers, trials: Integers, alpha: float) -> Floats:
    from scipy.special import betainccinv, betaincinv

    k, m = np.maximum(hits, 1), np.maximum(trials - hits, 1)
    bound = np.where(
        k <= m,
        betainccinv(k + 1.0, m, alpha) * (1 + SLACK),
        1 - betaincinv(m, k + 1.0, alpha) * (1 - SLACK),
    )
    never = -np.expm1(math.log(alpha) / np.maximum(trials, 1))
    bound = np.nextafter(np.where(hits == 0, never, bound), 1.0)
    return np.where(hits == trials, 1.0, bound)
