"""Intervals against SciPy's own and by coverage; metrics by hand-counted examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from unfooled.statistics.intervals import clopper_pearson, wilson
from unfooled.statistics.metrics import classification_metrics


@given(n=st.integers(1, 500), share=st.floats(0, 1), confidence=st.sampled_from([0.9, 0.95, 0.999]))
def test_intervals_agree_with_scipy(n: int, share: float, confidence: float) -> None:
    successes = round(share * n)
    for ours, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        theirs = binomtest(successes, n).proportion_ci(confidence, method=method)
        assert ours(successes, n, confidence) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_clopper_pearson_covers_at_least_as_often_as_it_says() -> None:
    draws = np.random.default_rng(0).binomial(30, 0.07, size=4000)
    covered = sum(low <= 0.07 <= high for low, high in (clopper_pearson(int(k), 30) for k in draws))
    assert covered / 4000 >= 0.95


@pytest.mark.parametrize(("successes", "n", "confidence"), [(5, 4, 0.95), (-1, 4, 0.95), (1, 4, 1.0)])
def test_impossible_counts_are_refused(successes: int, n: int, confidence: float) -> None:
    for interval in (wilson, clopper_pearson):
        with pytest.raises(ValueError, match="between 0 and"):
            interval(successes, n, confidence)


def test_no_observation_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert clopper_pearson(0, 0) == (0.0, 1.0)


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
