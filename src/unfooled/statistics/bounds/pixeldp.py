"""Gaussian noise, ℓ2 ball, through differential privacy: Lécuyer et al. 2019 (in Li et al. 2019, App. A).

The largest σε/√(2 ln(1.25/δ)) over 0 < ε ≤ 1, δ > 0 with p₁ ≥ e^{2ε}·p₂ + (1 + e^ε)·δ. For a given ε the best
δ is (p₁ − e^{2ε}p₂)/(1 + e^ε), so one variable is left. Li et al.'s text drops the δ from the condition.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.bounds.gaussian import within_gaussian_l2
from unfooled.statistics.bounds.search import highest
from unfooled.statistics.checks import Floats, NumberOrArray
from unfooled.statistics.rounding import SLACK, inner


def pixeldp_l2(p_top: ArrayLike, p_second: ArrayLike, sigma: ArrayLike) -> NumberOrArray:
    """The PixelDP radius, best privacy parameters.

    Guarantee: with noise N(0, σ²I) added to the input, the smoothed classifier gives the same answer for
    every input within ℓ2 distance R.
    """
    return within_gaussian_l2(unit_radius, p_top, p_second, sigma)


def unit_radius(p_top: Floats, p_second: Floats) -> Floats:
    """R/σ, and 0 where ``p_top <= p_second``."""
    top, second = inner(p_top, p_second)
    largest = np.minimum(np.log1p(np.maximum(top - second, 0.0) / second) / 2, 1.0)  # of ε

    def radius(share: Floats) -> Floats:
        epsilon = share * largest
        spent = np.exp(2 * epsilon) * second
        delta = (top - spent - SLACK * (top + spent)) / (1 + np.exp(epsilon))
        allowed = delta > 0
        return np.where(allowed, epsilon / np.sqrt(2 * np.log(1.25 / np.where(allowed, delta, 1.0))), 0.0)

    return highest(radius, 0.0, 1.0, shape=top.shape)
