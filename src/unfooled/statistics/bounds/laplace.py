"""Laplace noise, ℓ1 ball: Li, Chen, Wang and Carin 2019, Theorem 3; tight for two classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import NumberOrArray, given_back, positive, probabilities
from unfooled.statistics.rounding import inner, scaled


def laplace_l1(p_top: ArrayLike, p_second: ArrayLike, scale: ArrayLike) -> NumberOrArray:
    """R = −λ·log(1 − p_top + p_second), λ the scale of the noise.

    Guarantee: with independent Laplace(λ) noise on every coordinate, the smoothed classifier gives the same
    answer for every input within ℓ1 distance R.
    """
    top, second = probabilities(p_top, p_second)
    low, high = inner(top, second)
    gap = low - high
    # Close probabilities: the gap is exact. Far apart: 1 − p_top is exact. Never 1 − gap, which is neither.
    near = gap < 0.5
    log = np.where(near, np.log1p(-np.where(near, gap, 0.0)), np.log((1 - low) + high))
    return given_back(scaled(positive("scale", scale), np.where(top > second, -log, 0.0)))
