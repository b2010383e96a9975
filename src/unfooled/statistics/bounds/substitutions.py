"""Radii counted in words: random masking (RanMASK, Zeng et al. 2021) and synonyms (SAFER, Ye et al. 2020).

Both rest on total variation: changing r words moves the distribution of what the base classifier sees by at
most Δ, so no class gains or loses more than Δ. Deviates: RanMASK's β, an estimate without an interval, is
taken as 1, which needs no estimate; the comparisons are strict, and a share that
was rounded up (0.9 for nine of ten) does not turn a tie into a certificate.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from unfooled.statistics.checks import NumberOrArray, given_back, probabilities, unit, whole


def masked_words(p_top: ArrayLike, total_words: ArrayLike, kept_words: ArrayLike) -> NumberOrArray:
    """The largest r with p_top − Δ > ½, where Δ = 1 − C(T−r, k)/C(T, k), computed in whole numbers.

    Guarantee: if the base classifier sees k words of the text, drawn uniformly from its T positions, and the
    others masked, the majority answer is the same for every text that differs in at most r words at the same
    positions. 0 means that no change is covered; where ``p_top <= 1/2`` there is no answer either.
    """
    top = unit("p_top", p_top)
    total, kept = whole("total_words", total_words, at_least=1), whole("kept_words", kept_words)
    if (kept > total).any():
        raise ValueError("kept_words must not exceed total_words.")
    radius = np.frompyfunc(_masked_words, 3, 1)(top, total, kept)
    return given_back(np.asarray(radius, dtype=np.int64))


def synonym_words(p_top: ArrayLike, p_second: ArrayLike, overlaps: ArrayLike) -> NumberOrArray:
    """The largest R with p_top − q > p_second + q, where q = 1 − the product of the R smallest overlaps.

    The last axis of ``overlaps`` holds the words of the text: for each, the smallest value over its allowed
    substitutes w' of |P(w) ∩ P(w')| / max(|P(w)|, |P(w')|), and 1 for a word without substitutes.

    Guarantee: if every word w is redrawn uniformly from its set P(w) before the base classifier sees it, the
    smoothed answer is the same for every text in which at most R words were replaced by allowed substitutes.
    """
    top, second = probabilities(p_top, p_second)
    words = unit("overlaps", overlaps)
    if words.ndim == 0:
        raise ValueError("overlaps must list one value per word.")
    # Fractions were rounded when they were divided, up perhaps: ties must not be certified for that.
    words = np.sort(np.where((words > 0) & (words < 1), np.nextafter(words, 0.0), words), axis=-1)
    gap = np.where(top > second, top - second - 2.0**-51, -1.0)
    shape = np.broadcast_shapes(gap.shape, words.shape[:-1])
    common = np.ones(words.shape[:-1])
    holds, radius = np.ones(shape, dtype=bool), np.zeros(shape, dtype=np.int64)
    for number in range(words.shape[-1]):
        factor = words[..., number]
        common = np.where(factor < 1, np.nextafter(common * factor, 0.0), common)
        holds &= gap > 2 * (1 - common)  # exact wherever it can hold: common is then above ½
        radius += holds
    return given_back(radius)


def _masked_words(p_top: float, total: int, kept: int) -> int:
    needed = Fraction(3, 2) - Fraction(
        math.nextafter(p_top, 0.0)
    )  # the share of kept sets that must miss every changed word
    all_sets = math.comb(total, kept)

    def certified(r: int) -> bool:
        return math.comb(total - r, kept) * needed.denominator > needed.numerator * all_sets

    if not certified(0):
        return 0
    low, high = 0, total + 1  # certified at low, not at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle <= total and certified(middle) else (low, middle)
    return low
