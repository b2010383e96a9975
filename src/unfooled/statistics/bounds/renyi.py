"""Gaussian noise, ℓ2 ball, through the Rényi divergence: Li, Chen, Wang and Carin 2019, Theorem 2.

R² = sup_{a>1} −(2σ²/a)·log(1 − p₁ − p₂ + 2·((p₁^{1−a} + p₂^{1−a})/2)^{1/(1−a)}). Never above Cohen's bound.
Deviates: the authors' grid stops at a = 2; here a − 1 runs over eight decades and the best is refined.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.bounds.gaussian import within_gaussian_l2
from unfooled.statistics.bounds.search import highest
from unfooled.statistics.checks import Floats, NumberOrArray
from unfooled.statistics.rounding import inner

SMALLEST_ORDER, LARGEST_ORDER = 1e-5, 1e3  # of a − 1


def renyi_l2(p_top: ArrayLike, p_second: ArrayLike, sigma: ArrayLike) -> NumberOrArray:
    """The Rényi radius.

    Guarantee: with noise N(0, σ²I) added to the input, the smoothed classifier gives the same answer for
    every input within ℓ2 distance R.
    """
    return within_gaussian_l2(unit_radius, p_top, p_second, sigma)


def unit_radius(p_top: Floats, p_second: Floats) -> Floats:
    """R/σ, and 0 where ``p_top <= p_second``."""
    top, second = inner(p_top, p_second)
    top = np.maximum(np.minimum(top, 1 - second), second)  # what rounding put above one is taken off the top
    gap, rest = top - second, np.maximum((1 - top) - second, 0.0)
    ratio = np.log1p(gap / second)  # log(p₁/p₂)

    def squared(log_order: Floats) -> Floats:
        order = np.exp(log_order)  # a − 1
        # The power mean is p₂·e^lift; this form of log(2/(1 + e^{−y})) keeps its digits for small y.
        lift = -np.log1p(np.expm1(-order * ratio) / 2) / order
        inside = rest + 2 * second * np.exp(lift)
        drop = gap - 2 * second * np.expm1(lift)  # 1 − inside, with its digits where inside is close to 1
        close = inside > 0.5
        divergence = np.where(
            close,
            -np.log1p(-np.where(close, drop, 0.0)) - gap * 2.0**-46,
            -np.log(inside) - 2.0**-40,
        )
        return 2 * divergence / (1 + order)

    best = highest(squared, np.log(SMALLEST_ORDER), np.log(LARGEST_ORDER), shape=top.shape)
    return np.sqrt(np.maximum(best, 0.0))
