"""Noise budgets: how one noise level σ is split over several looks at an input, and what the looks add up to.

Gaussian looks σ₁ … σ_k compose to one of (Σσᵢ⁻²)^(−½), even if each depends on the ones before (Adaptive
Randomized Smoothing, Lyu et al. 2024, Proposition 2.1). Predictors draw the noise that is computed here and
certificates rest on the same numbers: what is spent is rounded up, what it certifies is rounded down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import Floats, NumberOrArray, given_back, positive, whole
from unfooled.statistics.rounding import SLACK


def masked_noise(sigma: ArrayLike, positions: ArrayLike, masked: ArrayLike) -> NumberOrArray:
    """σ·√((T − M)/T), rounded up: the noise of a step that M of its T ``positions`` are hidden from.

    Guarantee: where every position may move by at most r, such a step tells the two inputs apart no better
    than one with noise σ on all T, whatever r is. M must leave a position to look at.
    """
    noise = positive("sigma", sigma)
    total, hidden = whole("positions", positions, at_least=1), whole("masked", masked)
    noise, total, hidden = np.broadcast_arrays(noise, total, hidden)
    if (hidden >= total).any():
        raise ValueError("masked must be below positions: a step that sees no position needs no noise.")
    return given_back(noise * np.sqrt((total - hidden) / total) * (1 + SLACK))


def split_noise(sigma: ArrayLike, sigma_1: ArrayLike) -> NumberOrArray:
    """σ₂ = (σ⁻² − σ₁⁻²)^(−½), rounded up: the noise left for a second step when σ₁ is spent on the first.

    Guarantee: ``composed_l2`` of (σ₁, σ₂) is what one step of σ certifies, to the last few bits. For
    σ₁ = σ nothing is left and the value is infinite; σ₁ < σ is refused.
    """
    total, first = positive("sigma", sigma), positive("sigma_1", sigma_1)
    total, first = np.broadcast_arrays(total, first)
    if (first < total).any():
        raise ValueError("sigma_1 must be at least sigma: less noise than that spends more than the budget.")
    # σ / √((1 − u)(1 + u)) with u = σ/σ₁; σ₁ − σ is exact where the two are close.
    with np.errstate(divide="ignore"):
        left = total / np.sqrt((first - total) / first * (1 + total / first))
    return given_back(left * (1 + SLACK))


def composed_sigma(sigmas: ArrayLike) -> Floats:
    """The one noise level that several steps amount to, rounded down."""
    steps = positive("sigmas", sigmas)
    if steps.ndim == 0 or steps.shape[-1] == 0:
        raise ValueError("sigmas must list the noise level of at least one step.")
    smallest = steps.min(axis=-1)  # scaled by it, no square overflows
    squares = ((smallest[..., None] / steps) ** 2).sum(axis=-1)
    return smallest / np.sqrt(squares) * (1 - (steps.shape[-1] - 1) * SLACK)
