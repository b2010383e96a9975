"""Several noisy looks at one input, each free to depend on the ones before: Adaptive Randomized Smoothing.

Propositions 2.1 and 2.2 (the latter moved from coordinates to words, too): Gaussian steps σ₁ … σ_k compose
to one of (Σσᵢ⁻²)^(−½), with no price for adaptivity, and whatever is computed from the looks alone (a mask, a
classifier) is post-processing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import NumberOrArray, given_back, probabilities, whole
from unfooled.statistics.noise_budget import composed_sigma
from unfooled.statistics.rounding import normal_gap, scaled


def composed_l2(p_top: ArrayLike, p_second: ArrayLike, sigmas: ArrayLike) -> NumberOrArray:
    """R = (Φ⁻¹(p_top) − Φ⁻¹(p_second)) / (2√Σσᵢ⁻²); the last axis of ``sigmas`` holds the steps.

    Guarantee: the whole prediction, all its steps included, gives the same answer for every input within ℓ2
    distance R, provided step i adds N(0, σᵢ²I) to a query that moves by no more than its input does. A
    second step whose noise was shrunk because of a mask keeps this promise for ℓ∞ only.
    """
    top, second = probabilities(p_top, p_second)
    return given_back(scaled(composed_sigma(sigmas), normal_gap(top, second) / 2))


def composed_linf(p_top: ArrayLike, p_second: ArrayLike, sigmas: ArrayLike, dim: ArrayLike) -> NumberOrArray:
    """R = ℓ2 radius / √dim, with masked steps allowed to shrink their noise.

    Guarantee: the same answer for every input none of whose ``dim`` coordinates moved by more than R,
    provided step i adds N(0, (‖w‖₂²/dim)·σᵢ²I) to the input multiplied by a mask w ∈ [0, 1]^dim that is
    computed from earlier steps alone (w = 1 for the first).
    """
    top, second = probabilities(p_top, p_second)
    root = np.sqrt(whole("dim", dim, at_least=1).astype(np.float64))
    return given_back(scaled(composed_sigma(sigmas), normal_gap(top, second) / 2 / root))


def composed_each_word(
    p_top: ArrayLike, p_second: ArrayLike, sigmas: ArrayLike, positions: ArrayLike
) -> NumberOrArray:
    """R = ℓ2 radius / √positions, with masked steps allowed to shrink their noise (:func:`masked_noise`).

    Guarantee: the same answer for every input none of whose ``positions`` vectors moved by more than R, each
    measured by itself and all allowed to move at once, provided step i adds N(0, σᵢ²I) to them or, where a
    mask computed from earlier steps alone hides M, N(0, masked_noise(σᵢ, positions, M)²I) to the rest.
    """
    top, second = probabilities(p_top, p_second)
    root = np.sqrt(whole("positions", positions, at_least=1).astype(np.float64))
    return given_back(scaled(composed_sigma(sigmas), normal_gap(top, second) / 2 / root))
