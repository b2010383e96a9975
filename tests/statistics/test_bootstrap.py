"""Bootstrap intervals of means: they agree with theory where there is one, and know groups."""

from __future__ import annotations

import numpy as np
import pytest

from unfooled.statistics.bootstrap import bootstrap_mean
from unfooled.statistics.intervals import student_mean


def test_the_interval_is_that_of_students_t_for_many_values() -> None:
    values = np.random.Generator(np.random.PCG64(1)).beta(0.4, 0.3, 800).tolist()
    found = bootstrap_mean(values)
    _, expected = student_mean(values)
    assert found is not None and expected is not None
    assert found == pytest.approx(expected, abs=0.004)


def test_values_that_belong_together_give_a_wider_interval() -> None:
    values = [float(group % 2) for group in range(40) for _ in range(10)]
    alone, together = bootstrap_mean(values), bootstrap_mean(values, [n // 10 for n in range(400)])
    assert alone is not None and together is not None
    assert together[1] - together[0] > 2.5 * (alone[1] - alone[0])


def test_the_same_values_give_the_same_interval_around_their_mean() -> None:
    values = [0.0, 1.0, 0.5, 0.25]
    low, high = bootstrap_mean(values) or (1.0, 0.0)
    assert bootstrap_mean(values) == (low, high)
    assert low <= np.mean(values) <= high


def test_one_group_has_no_interval() -> None:
    assert bootstrap_mean([0.5]) is None
    assert bootstrap_mean([]) is None
    assert bootstrap_mean([0.0, 1.0], ["same", "same"]) is None


def test_the_mean_lies_in_the_interval_in_nineteen_of_twenty_experiments() -> None:
    draw = np.random.Generator(np.random.PCG64(3))
    hits = 0
    for _ in range(200):
        low, high = bootstrap_mean(draw.beta(0.5, 0.5, 60).tolist(), draws=400) or (1.0, 0.0)
        hits += low <= 0.5 <= high
    assert 176 <= hits <= 199
