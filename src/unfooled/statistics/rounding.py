"""Rounding that can only cost radius, never invent it.

Probabilities are kept 2⁻⁵³ away from 0 and 1. 1 − 2⁻⁵³ is the largest double below one, so ``p_top = 1``
alone is changed, and downwards: radii stay finite (8.21 σ for Gaussian noise), and no sample that could be
drawn supports a larger probability. Radii are then cut by a few units in the last places, more than the
arithmetic before them can be wrong, so that the closed ball of the returned radius is certified.
"""

from __future__ import annotations

import numpy as np

from unfooled.statistics.checks import Floats

TINIEST = 2.0**-53
SLACK = 2.0**-48
LARGEST = float(np.finfo(np.float64).max)


def inner(p_top: Floats, p_second: Floats) -> tuple[Floats, Floats]:
    """The probabilities away from the ends of [0, 1]: the top one moved down, the second one up."""
    return np.minimum(p_top, 1 - TINIEST), np.maximum(p_second, TINIEST)


def normal_gap(p_top: Floats, p_second: Floats) -> Floats:
    """Φ⁻¹(p_top) − Φ⁻¹(p_second), rounded down, and 0 where it is not positive."""
    from scipy.special import ndtri

    top, second = (ndtri(p) for p in inner(p_top, p_second))
    gap = (top - second) - SLACK * (np.abs(top) + np.abs(second))
    return np.where(p_top > p_second, np.maximum(gap, 0.0), 0.0)


def scaled(noise: Floats, radius: Floats) -> Floats:
    """Noise level times the radius for noise of one, rounded down and finite whatever the noise level."""
    with np.errstate(over="ignore"):
        return np.minimum(noise * radius * (1 - SLACK), LARGEST)
