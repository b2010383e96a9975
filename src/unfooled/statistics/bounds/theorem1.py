"""The radius of Moon et al. 2023 (RSMI), Theorem 1, for comparison with the paper. It is not a certificate.

It grows as the noise falls: Lemma 2 has the Lipschitz constant of Φ⁻¹∘g upside down (it is 1/σ, not σ), and
Lemma 3 does not hold for network layers. For f(x) = 1[x > 0], σ = 0.2 and x = 0.2 it claims 5; the answer
changes at distance 0.2.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import NumberOrArray, given_back, positive, probabilities
from unfooled.statistics.rounding import normal_gap


class UnsoundBoundWarning(UserWarning):
    """A number that looks like a certified radius and is not one."""


def rsmi_theorem1_radius(p_top: ArrayLike, p_second: ArrayLike, sigmas: ArrayLike) -> NumberOrArray:
    """1/(2σ₁)·Π_{l≥2}(1 + σ_l²)·(Φ⁻¹(p_top) − Φ⁻¹(p_second)): **unsound, promises nothing**, always warns.

    The last axis of ``sigmas`` holds the noise levels of the layers, first layer first.
    """
    warnings.warn(
        "Theorem 1 of Moon et al. 2023 is not a certificate: its radius grows as the noise falls, and inputs "
        "inside it can change the answer. Use gaussian_l2 with noise at the embeddings instead.",
        UnsoundBoundWarning,
        stacklevel=2,
    )
    top, second = probabilities(p_top, p_second)
    layers = positive("sigmas", sigmas)
    if layers.ndim == 0 or layers.shape[-1] == 0:
        raise ValueError("sigmas must list the noise level of at least one layer.")
    factor = np.prod(1 + layers[..., 1:] ** 2, axis=-1) / (2 * layers[..., 0])
    return given_back(factor * normal_gap(top, second))
