"""Gaussian noise, ℓ2 ball: Cohen, Rosenfeld and Kolter 2019, Theorem 1.

Tight: for every pair of probabilities there is a base classifier whose answer changes just outside the ball.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import Floats, NumberOrArray, given_back, positive, probabilities, real
from unfooled.statistics.rounding import SLACK, TINIEST, normal_gap, scaled


def gaussian_l2(p_top: ArrayLike, p_second: ArrayLike, sigma: ArrayLike) -> NumberOrArray:
    """R = σ/2·(Φ⁻¹(p_top) − Φ⁻¹(p_second)).

    Guarantee: with noise N(0, σ²I) added to the input, the smoothed classifier gives the same answer for
    every input within ℓ2 distance R. With ``p_second = 1 - p_top`` this is σΦ⁻¹(p_top).
    """
    top, second = probabilities(p_top, p_second)
    return given_back(scaled(positive("sigma", sigma), normal_gap(top, second) / 2))


def within_gaussian_l2(
    unit_radius: Callable[[Floats, Floats], Floats],
    p_top: ArrayLike,
    p_second: ArrayLike,
    sigma: ArrayLike,
) -> NumberOrArray:
    """σ times the R/σ of another bound for the same noise and ball, cut at ``gaussian_l2``.

    It is never above that in exact arithmetic; two sound bounds may be compared freely.
    """
    top, second = probabilities(p_top, p_second)
    radius = scaled(positive("sigma", sigma), unit_radius(top, second))
    return given_back(np.minimum(radius, gaussian_l2(p_top, p_second, sigma)))


def gaussian_l2_probability(radius: ArrayLike, sigma: ArrayLike) -> NumberOrArray:
    """Φ(r/σ), rounded up: the question «is R ≥ r?» as the question «is p ≥ t?».

    Guarantee: ``gaussian_l2(p, 1 - p, sigma) >= radius`` for every p at or above the returned value that is
    below one. Beyond 8.2 σ the value is 1, which no number of samples can show.
    """
    from scipy.special import ndtr

    distance, noise = real("radius", radius), positive("sigma", sigma)
    if (distance < 0).any():
        raise ValueError(f"radius must not be negative, got {distance.min()}.")
    ratio = distance / noise * (1 + 4 * SLACK)
    # From the far tail, where doubles are dense; 1 - tail is then rounded up by one step.
    tail = np.maximum(ndtr(-ratio) * (1 - 2.0**-40) - TINIEST, 0.0)
    return given_back(np.where(ratio == 0, 0.5, np.minimum(1 - tail, 1.0)))
