"""Every word moved a little: no mask, however chosen, and no classifier breaks the radius; one attains it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from unfooled.statistics.bounds import (
    composed_each_word,
    composed_l2,
    composed_linf,
    gaussian_l2,
)
from unfooled.statistics.noise_budget import masked_noise, split_noise

Floats = NDArray[np.float64]
FIRST, SECOND = 0.9, 0.7
SIGMAS = [FIRST, SECOND]


@settings(max_examples=60)
@given(p_top=st.floats(0.5, 1), sigma=st.floats(1e-3, 1e3), positions=st.integers(1, 600))
def test_every_word_by_r_is_all_words_together_by_the_root_of_their_number(p_top, sigma, positions) -> None:
    radius = composed_each_word(p_top, 1 - p_top, [sigma, 2 * sigma], positions)
    together = composed_l2(p_top, 1 - p_top, [sigma, 2 * sigma])
    assert radius == pytest.approx(together / math.sqrt(positions), rel=1e-12)
    # No coordinate by more than r is no word of 4 coordinates by more than 2r.
    assert composed_linf(p_top, 1 - p_top, [sigma, 2 * sigma], 4 * positions) == pytest.approx(radius / 2)


def test_noise_behind_a_mask_falls_with_what_is_hidden_and_never_rises() -> None:
    noise = masked_noise(0.5, 16, np.arange(16))
    assert noise[0] == pytest.approx(0.5) and noise[12] == pytest.approx(0.25)
    assert (np.diff(noise) < 0).all() and (noise > 0).all()
    assert (noise**2 * 16 / (16 - np.arange(16)) >= 0.25).all()  # rounded up


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0.5, 4, 4), "masked must be below positions"),
        ((0.5, 1, 3), "masked must be below positions"),
        ((0.5, 4, -1), "masked"),
        ((0.5, 4, 1.5), "masked"),
        ((0.5, 0, 0), "positions"),
        ((0.0, 4, 1), "sigma"),
        ((math.inf, 4, 1), "sigma"),
    ],
)
def test_impossible_masks_are_refused_by_name(arguments, named) -> None:
    with pytest.raises(ValueError, match=named):
        masked_noise(*arguments)


def looks(
    x: Floats,
    draws: int,
    *,
    hide: Callable[[Floats], NDArray[np.bool_]],
    second: Callable[[int, int], float],
    seed: int,
) -> tuple[Floats, Floats, NDArray[np.bool_], float]:
    """Both looks at words ``x`` ``(words, width)``; the second is NaN where ``hide`` of the first hid it."""
    rng = np.random.default_rng(seed)
    m_1 = x + FIRST * rng.standard_normal((draws, *x.shape))
    hidden = hide(m_1)
    (count,) = set(hidden.sum(axis=1).tolist())
    spread = second(len(x), count)
    m_2 = x + spread * rng.standard_normal(m_1.shape)
    m_2[hidden] = np.nan
    return m_1, m_2, hidden, spread


def calibrated(words: int, hidden: int) -> float:
    return float(masked_noise(SECOND, words, hidden))


def most_moved(m_1: Floats) -> NDArray[np.bool_]:
    """Hides the two words whose first look is longest: a mask that depends on all of the first look."""
    order = np.linalg.norm(m_1, axis=2).argsort(axis=1)
    hidden = np.zeros(m_1.shape[:2], dtype=bool)
    np.put_along_axis(hidden, order[:, -2:], values=True, axis=1)
    return hidden


@pytest.mark.full
@pytest.mark.parametrize("p_top", [0.75, 0.9, 0.98])
def test_the_likelihood_ratio_attains_the_radius(p_top: float) -> None:
    """The best test of x against x + move: its answer at x has p_top, and turns just outside the radius."""
    rng = np.random.default_rng(0)
    x, words = rng.standard_normal((5, 3)), 5
    radius = composed_each_word(p_top, 1 - p_top, SIGMAS, words)
    direction = rng.standard_normal((5, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)  # every word by one
    threshold = None
    shares = []
    for seed, times in enumerate([0.0, 0.95, 1.05]):
        moved = x + times * radius * direction
        m_1, m_2, hidden, spread = looks(moved, 200_000, hide=most_moved, second=calibrated, seed=seed)
        first = ((m_1 - x) * direction).sum(axis=(1, 2)) / FIRST**2
        rest = ((m_2 - x) * direction).sum(axis=2) / spread**2
        ratio = first + np.where(hidden, 0.0, rest).sum(axis=1)
        if threshold is None:
            threshold = np.quantile(ratio, p_top)
        shares.append((ratio < threshold).mean())
    assert shares[1] > 0.503  # inside: kept, by twice the sampling error and more
    assert shares[2] < 0.497  # outside: lost. The radius cannot be larger.
    assert shares[1] < 0.5 + 0.06 * ndtri(p_top)  # and inside it was close


def shares_of_every_policy(
    x: Floats, move: Floats, *, second: float, average: bool, level: float, seed: int
) -> tuple[Floats, Floats]:
    """Three numbers as words, one hidden by any function of the three signs of the first look: 3⁸ policies.

    What is answered for each mask is the half-space that separates x from x + move best, in both looks or in
    their average. Returns the share of the answer at x and at x + move, for each policy.
    """
    every = np.array(list(itertools.product(range(3), repeat=8)))
    tables = []
    for number, centre in enumerate((x, x + move)):
        rng = np.random.default_rng(seed + number)
        m_1 = centre + FIRST * rng.standard_normal((150_000, 3))
        m_2 = centre + second * rng.standard_normal((150_000, 3))
        signs = (m_1 > 0) @ np.array([1, 2, 4])
        table = np.zeros((8, 3))
        for mask in range(3):
            seen = np.arange(3) != mask
            if average:
                weight = second**2 / (FIRST**2 + second**2)
                score = ((weight * m_1 + (1 - weight) * m_2 - x) * move)[:, seen].sum(axis=1)
                deviation = math.sqrt(weight) * FIRST * np.linalg.norm(move[seen])
            else:
                score = ((m_1 - x) * move).sum(axis=1) / FIRST**2
                score += ((m_2 - x) * move)[:, seen].sum(axis=1) / second**2
                deviation = math.sqrt((move**2).sum() / FIRST**2 + (move[seen] ** 2).sum() / second**2)
            answers = score < ndtri(level) * deviation
            table[:, mask] = np.bincount(signs, weights=answers, minlength=8) / len(answers)
        tables.append(table[np.arange(8), every].sum(axis=1))
    return tables[0], tables[1]


def excess(before: Floats, after: Floats, distance: float) -> float:
    """By how much the worst policy lost more than a move of ``distance`` noise levels allows."""
    return float((ndtr(ndtri(before) - distance) - after).max())


ERROR = 5 * 0.5 / math.sqrt(150_000) * 2  # of two shares, five standard errors


@pytest.mark.full
@pytest.mark.parametrize("average", [False, True], ids=["both looks", "their average"])
@pytest.mark.parametrize("level", [0.6, 0.9])
def test_no_mask_breaks_the_radius(average: bool, level: float) -> None:
    sigma = (FIRST**-2 + SECOND**-2) ** -0.5
    for seed, start in enumerate([[0.0, 0.0, 0.0], [0.4, -0.1, 0.8], [-0.5, 0.3, 0.2]]):
        for r, signs in [(0.3, [1, 1, 1]), (0.6, [1, -1, 1]), (0.6, [1, 0, -1]), (0.5, [0, 0, 1])]:
            before, after = shares_of_every_policy(
                np.array(start),
                r * np.array(signs, dtype=float) + 1e-9,
                second=calibrated(3, 1),
                average=average,
                level=level,
                seed=10 * seed,
            )
            assert excess(before, after, r * math.sqrt(3) / sigma) < ERROR


def test_the_check_would_see_too_little_noise_and_the_threat_it_is_not_for() -> None:
    sigma = (FIRST**-2 + SECOND**-2) ** -0.5
    every, one = np.full(3, 0.6), np.array([0.6 * math.sqrt(3), 0.0, 0.0])
    x = np.zeros(3)

    def worst(move: Floats, second: float) -> float:
        shares = shares_of_every_policy(x, move, second=second, average=False, level=0.9, seed=1)
        return excess(*shares, 0.6 * math.sqrt(3) / sigma)

    assert worst(every, calibrated(3, 1)) < ERROR
    assert worst(every, calibrated(3, 1) * 0.8) > ERROR
    # One word moved by what three words may move together: an l2 claim needs all of the second noise.
    assert worst(one, calibrated(3, 1)) > ERROR
    assert worst(one, SECOND) < ERROR


def test_one_look_is_plain_noise() -> None:
    assert composed_each_word(0.9, 0.1, [0.5], 9) == pytest.approx(gaussian_l2(0.9, 0.1, 0.5) / 3)
    second = split_noise(0.5, 0.8)
    assert composed_each_word(0.9, 0.1, [0.8, second], 9) == pytest.approx(gaussian_l2(0.9, 0.1, 0.5) / 3)
