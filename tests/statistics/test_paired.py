"""The interval of a difference of two proportions on the same inputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unfooled.statistics.intervals import wilson
from unfooled.statistics.paired import Difference, paired_difference


def difference(both: int, first: int, second: int, neither: int) -> Difference:
    pairs = [(True, True)] * both + [(True, False)] * first + [(False, True)] * second
    found = paired_difference(pairs + [(False, False)] * neither)
    assert found is not None
    return found


def test_it_is_newcombes_interval_step_by_step() -> None:
    """36 inputs right for both, 12 for the first alone, 2 for the second alone, of 50."""
    found = difference(36, 12, 2, 0)
    (low, high), (other_low, other_high) = wilson(48, 50), wilson(38, 50)
    # 36 · 0 − 12 · 2 is negative, so φ has no correction for continuity.
    phi = -24 / math.sqrt(48 * 2 * 38 * 12)
    below, above = 48 / 50 - low, other_high - 38 / 50
    assert found.low == pytest.approx(0.2 - math.sqrt(below**2 - 2 * phi * below * above + above**2))
    below, above = high - 48 / 50, 38 / 50 - other_low
    assert found.high == pytest.approx(0.2 + math.sqrt(below**2 - 2 * phi * below * above + above**2))
    assert (round(found.low, 4), round(found.high, 4)) == (0.0569, 0.3404)
    assert (found.value, found.n, found.shown) == (pytest.approx(0.2), 50, True)


def test_a_positive_correlation_is_corrected_for_continuity() -> None:
    """14 inputs right for both, 5 for the first alone, 22 for none, of 41; φ loses n/2 in its numerator."""
    found = difference(14, 5, 0, 22)
    (low, high), (other_low, other_high) = wilson(19, 41), wilson(14, 41)
    phi = (14 * 22 - 41 / 2) / math.sqrt(19 * 22 * 14 * 27)
    below, above = 19 / 41 - low, other_high - 14 / 41
    assert found.low == pytest.approx(5 / 41 - math.sqrt(below**2 - 2 * phi * below * above + above**2))
    below, above = high - 19 / 41, 14 / 41 - other_low
    assert found.high == pytest.approx(5 / 41 + math.sqrt(below**2 - 2 * phi * below * above + above**2))
    weak = difference(3, 3, 3, 4)  # φ would be above 0 by less than the correction, and is 0
    (low, _), (_, other_high) = wilson(6, 13), wilson(6, 13)
    assert weak.low == pytest.approx(-math.hypot(6 / 13 - low, other_high - 6 / 13))


counts = st.integers(0, 60)


@given(counts, counts, counts, counts)
def test_it_contains_the_difference_and_turns_with_its_sides(a: int, b: int, c: int, d: int) -> None:
    if a + b + c + d == 0:
        assert paired_difference([]) is None
        return
    found, turned = difference(a, b, c, d), difference(a, c, b, d)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert (turned.value, turned.low, turned.high) == pytest.approx((-found.value, -found.high, -found.low))


def test_inputs_that_both_find_hard_make_it_narrower() -> None:
    alike, unlike = difference(45, 10, 5, 40), difference(25, 30, 25, 20)
    assert alike.value == unlike.value == pytest.approx(0.05)
    assert alike.high - alike.low < 0.7 * (unlike.high - unlike.low)


@pytest.mark.parametrize("shares", [(0.3, 0.15, 0.05, 0.5), (0.1, 0.02, 0.02, 0.86), (0.6, 0.3, 0.05, 0.05)])
def test_it_covers_the_true_difference_as_often_as_it_says(shares: tuple[float, ...]) -> None:
    drawn = np.random.default_rng(0).multinomial(200, shares, size=600)
    true = shares[1] - shares[2]
    found = [difference(*map(int, one)) for one in drawn]
    covered = np.mean([one.low <= true <= one.high for one in found])
    assert 0.92 <= covered <= 0.995
