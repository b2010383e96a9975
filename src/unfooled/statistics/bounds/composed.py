"""Several noisy looks at one input, each free to depend on the ones before: Adaptive Randomized Smoothing.

Propositions 2.1 and 2.2 (the latter moved from coordinates to words, too): Gaussian steps σ₁ … σ_k compose
to one of (Σσᵢ⁻²)^(−½), with no price for adaptivity, and whatever is computed from the looks alone (a mask, a
classifier) is post-processing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.bounds.rounding import SLACK, normal_gap, scaled
from unfooled.statistics.checks import Floats, given_back, positive, probabilities, whole


def composed_l2(p_top: ArrayLike, p_second: ArrayLike, sigmas: ArrayLike) -> Any:
    """R = (Φ⁻¹(p_top) − Φ⁻¹(p_second)) / (2√Σσᵢ⁻²); the last axis of ``sigmas`` holds the steps.

    Guarantee: the whole prediction, all its steps included, gives the same answer for every input within ℓ2
    distance R, provided step i adds N(0, σᵢ²I) to a query that moves by no more than its input does. A
    second step whose noise was shrunk because of a mask keeps this promise for ℓ∞ only.
    """
    top, second = probabilities(p_top, p_second)
    return given_back(scaled(together(sigmas), normal_gap(top, second) / 2))


def composed_linf(p_top: ArrayLike, p_second: ArrayLike, sigmas: ArrayLike, dim: ArrayLike) -> Any:
    """R = ℓ2 radius / √dim, with masked steps allowed to shrink their noise.

    Guarantee: the same answer for every input none of whose ``dim`` coordinates moved by more than R,
    provided step i adds N(0, (‖w‖₂²/dim)·σᵢ²I) to the input multiplied by a mask w ∈ [0, 1]^dim that is
    computed from earlier steps alone (w = 1 for the first).
    """
    top, second = probabilities(p_top, p_second)
    root = np.sqrt(whole("dim", dim, at_least=1).astype(np.float64))
    return given_back(scaled(together(sigmas), normal_gap(top, second) / 2 / root))


def composed_each_word(p_top: ArrayLike, p_second: ArrayLike, sigmas: ArrayLike, positions: ArrayLike) -> Any:
    """R = ℓ2 radius / √positions, with masked steps allowed to shrink their noise (:func:`masked_noise`).

    Guarantee: the same answer for every input none of whose ``positions`` vectors moved by more than R, each
    measured by itself and all allowed to move at once, provided step i adds N(0, σᵢ²I) to them or, where a
    mask computed from earlier steps alone hides M, N(0, masked_noise(σᵢ, positions, M)²I) to the rest.
    """
    top, second = probabilities(p_top, p_second)
    root = np.sqrt(whole("positions", positions, at_least=1).astype(np.float64))
    return given_back(scaled(together(sigmas), normal_gap(top, second) / 2 / root))


def masked_noise(sigma: ArrayLike, positions: ArrayLike, masked: ArrayLike) -> Any:
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


def split_noise(sigma: ArrayLike, sigma_1: ArrayLike) -> Any:
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


def together(sigmas: ArrayLike) -> Floats:
    """The one noise level that several steps amount to, rounded down."""
    steps = positive("sigmas", sigmas)
    if steps.ndim == 0 or steps.shape[-1] == 0:
        raise ValueError("sigmas must list the noise level of at least one step.")
    smallest = steps.min(axis=-1)  # scaled by it, no square overflows
    squares = ((smallest[..., None] / steps) ** 2).sum(axis=-1)
    return smallest / np.sqrt(squares) * (1 - (steps.shape[-1] - 1) * SLACK)
