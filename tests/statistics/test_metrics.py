"""Intervals by what defines them; metrics by hand-counted examples."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from unfooled.statistics.intervals import wilson
from unfooled.statistics.metrics import classification_metrics


@given(n=st.integers(1, 500), share=st.floats(0, 1), confidence=st.sampled_from([0.9, 0.95, 0.999]))
def test_wilson_ends_where_the_score_test_rejects(n: int, share: float, confidence: float) -> None:
    successes = round(share * n)
    z = float(norm.ppf(0.5 + confidence / 2))
    low, high = wilson(successes, n, confidence)
    assert 0 <= low <= successes / n <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert abs(successes / n - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), rel=1e-6)


@pytest.mark.parametrize(("successes", "n", "confidence"), [(5, 4, 0.95), (-1, 4, 0.95), (1, 4, 1.0)])
def test_impossible_counts_are_refused(successes: int, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and"):
        wilson(successes, n, confidence)


def test_no_observation_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_metrics_count_an_abstention_as_not_correct() -> None:
    metrics = classification_metrics(
        [0, 0, 1, 1],
        [0, 1, 1, 1],
        ["no", "yes"],
        abstained=[False, False, False, True],
        forwards=[1, 3, 1, 3],
    )
    assert metrics["accuracy"] == 0.5
    assert metrics["abstained"] == 1
    assert metrics["confusion"] == [[1, 1], [0, 1]]
    assert metrics["forwards_per_example"] == 2
    # no: 1 hit, 1 guess, 2 true -> 2/3; yes: 1 hit, 2 guesses, 2 true -> 1/2
    assert metrics["macro_f1"] == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="3 labels but 2 predictions"):
        classification_metrics([0, 1, 1], [0, 1], ["no", "yes"])
