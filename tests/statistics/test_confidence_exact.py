"""Clopper–Pearson bounds against binomial tails summed in exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc, betaincc

from unfooled.statistics.confidence import clopper_pearson_lower, clopper_pearson_upper, two_class_bounds


def at_least(k: int, n: int, p: float) -> Fraction:
    """P(Binomial(n, p) ≥ k), exactly."""
    share = Fraction(p)
    return sum((math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(k, n + 1)), Fraction(0))


@settings(max_examples=60)
@given(n=st.integers(1, 60), data=st.data(), alpha=st.floats(1e-9, 0.5))
def test_bounds_solve_the_binomial_tail_and_err_on_the_safe_side(n, data, alpha) -> None:
    k = data.draw(st.integers(0, n))
    low, high = clopper_pearson_lower(k, n, alpha), clopper_pearson_upper(k, n, alpha)
    assert type(low) is float and 0 <= low <= k / n <= high <= 1
    if k:
        assert alpha * (1 - 1e-6) - 1e-13 <= at_least(k, n, low) <= Fraction(alpha)
    if k < n:
        assert alpha * (1 - 1e-6) - 1e-13 <= 1 - at_least(k + 1, n, high) <= Fraction(alpha)


def test_ends_are_exact() -> None:
    assert clopper_pearson_lower(0, 50, 0.001) == 0.0
    assert clopper_pearson_upper(50, 50, 0.001) == 1.0
    assert clopper_pearson_lower(100_000, 100_000, 0.001) == pytest.approx(0.001**1e-5, rel=1e-14)
    assert clopper_pearson_upper(0, 100_000, 0.001) == pytest.approx(1 - 0.001**1e-5, rel=1e-10)
    assert (clopper_pearson_lower(0, 0, 0.05), clopper_pearson_upper(0, 0, 0.05)) == (0.0, 1.0)


@pytest.mark.parametrize("n", [10_000, 1_000_000, 1_000_000_000])
def test_bounds_hold_for_large_samples(n: int) -> None:
    k = np.array([1, 2, 5, n // 3, n // 2, int(0.99 * n), n - 10, n - 1])
    low, high = clopper_pearson_lower(k, n, 0.001), clopper_pearson_upper(k, n, 0.001)
    assert betainc(k, n - k + 1.0, low) == pytest.approx(0.001, rel=1e-3)
    assert (betainc(k, n - k + 1.0, low) <= 0.001 * (1 + 1e-12)).all()
    assert (betaincc(k + 1.0, n - k, high) <= 0.001 * (1 + 1e-12)).all()


def test_bounds_grow_with_successes_and_shrink_with_alpha() -> None:
    k = np.arange(201)
    assert (np.diff(clopper_pearson_lower(k, 200, 0.01)) > 0).all()
    assert (np.diff(clopper_pearson_upper(k, 200, 0.01)) > 0).all()
    assert (clopper_pearson_lower(k, 200, 0.001) <= clopper_pearson_lower(k, 200, 0.01)).all()


@pytest.mark.parametrize("p", [0.02, 0.5, 0.93])
def test_coverage_is_exact_enumeration(p: float) -> None:
    n, alpha, k = 40, 0.05, np.arange(41)
    mass = np.array([math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in k])
    assert mass[clopper_pearson_lower(k, n, alpha) > p].sum() <= alpha
    assert mass[clopper_pearson_upper(k, n, alpha) < p].sum() <= alpha


def test_impossible_counts_and_levels_are_refused_by_name() -> None:
    for wrong, named in [
        (lambda: clopper_pearson_lower(5, 4, 0.05), "successes"),
        (lambda: clopper_pearson_lower(-1, 4, 0.05), "successes"),
        (lambda: clopper_pearson_upper(1.5, 4, 0.05), "successes"),
        (lambda: clopper_pearson_upper(1, -4, 0.05), "n must"),
        (lambda: clopper_pearson_lower(1, 4, 0.0), "alpha"),
        (lambda: clopper_pearson_lower(1, 4, 1.0), "alpha"),
        (lambda: clopper_pearson_lower(1, 4, math.nan), "alpha"),
        (lambda: two_class_bounds(60, 50, 100, 0.01), "other_counts"),
        (lambda: two_class_bounds(60, [30, 20], 100, 0.01), "other_counts"),
        (lambda: two_class_bounds(60, [], 100, 0.01), "other_counts"),
    ]:
        with pytest.raises(ValueError, match=named):
            wrong()


def test_two_classes_share_alpha_and_take_the_largest_other() -> None:
    low, high = two_class_bounds(600, [150, 200, 50], 1000, 0.01)
    assert low == clopper_pearson_lower(600, 1000, 0.005)
    assert high == clopper_pearson_upper(200, 1000, 0.005)
    assert (low, high) == two_class_bounds(600, 200, 1000, 0.01)
    lows, highs = two_class_bounds([600, 700], [[150, 200], [10, 20]], 1000, 0.01)
    assert (lows[0], highs[0]) == (low, high) and lows.shape == highs.shape == (2,)


def test_second_bound_never_exceeds_what_the_first_leaves() -> None:
    for top, other in itertools.product(range(0, 51, 5), repeat=2):
        if top + other <= 50:
            low, high = two_class_bounds(top, other, 50, 0.01)
            assert low + high <= 1 + 1e-12


def test_two_class_bounds_hold_at_once_for_three_classes() -> None:
    """Every outcome of 12 samples from three classes, the runner-up not known in advance."""
    n, alpha, p = 12, 0.2, (0.5, 0.26, 0.24)
    missed = 0.0
    for top, second in itertools.product(range(n + 1), repeat=2):
        third = n - top - second
        if third >= 0:
            low, high = two_class_bounds(top, [second, third], n, alpha)
            mass = math.factorial(n) / math.prod(map(math.factorial, (top, second, third)))
            mass *= p[0] ** top * p[1] ** second * p[2] ** third
            missed += mass * (low > p[0] or high < p[1])
    assert 0 < missed <= alpha
