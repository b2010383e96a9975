"""Distances of states, their intervals, and the plane that shows them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unfooled.statistics.drift import cosines, distances, drift, fit_plane

STATES = np.random.default_rng(0).normal(size=(12, 5))


def test_known_shift_has_its_length_in_every_row() -> None:
    shift = np.array([3.0, 0.0, 4.0, 0.0, 0.0])
    assert distances(STATES, STATES + shift) == pytest.approx(np.full(12, 5.0))


def test_scaling_keeps_the_cosine_and_turning_round_reverses_it() -> None:
    assert cosines(STATES, 7 * STATES) == pytest.approx(np.ones(12))
    assert cosines(STATES, -STATES) == pytest.approx(-np.ones(12))
    assert cosines(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]])) == pytest.approx([math.sqrt(0.5)])


def test_zero_vectors_are_like_themselves_and_like_nothing_else() -> None:
    zero, one = np.zeros((1, 3)), np.ones((1, 3))
    assert cosines(zero, zero) == [1.0]
    assert cosines(zero, one) == [0.0]


def test_one_input_has_a_mean_and_no_interval() -> None:
    found = drift([STATES[:1]], [STATES[:1] + 1])
    assert len(found["l2"]) == 1 and found["l2_interval"] is None and found["cosine_interval"] is None


def test_intervals_of_distances_and_cosines_stay_inside_what_is_possible() -> None:
    clean = np.eye(3)
    for attacked in (clean + 1e-3 * np.diag([0.0, 0.0, 5.0]), -clean + 1e-3 * np.diag([0.0, 0.0, 5.0])):
        found = drift([clean], [attacked])
        (low, high), (least, most) = found["l2_interval"][0], found["cosine_interval"][0]
        assert 0 <= low <= found["l2"][0] <= high
        assert -1 <= least <= found["cosine"][0] <= most <= 1


def test_drift_is_given_layer_by_layer() -> None:
    wide = np.ones((12, 3))
    found = drift([STATES, wide], [STATES, wide + np.array([0.0, 0.0, 2.0])])
    assert found["inputs"] == 12
    assert found["l2"] == [0.0, pytest.approx(2.0)]
    assert found["cosine"] == [1.0, pytest.approx(5 / math.sqrt(3 * 11))]
    assert found["l2_interval"][0] == [0.0, 0.0]
    assert len(found["cosine_interval"]) == 2


def test_plane_finds_the_directions_of_largest_variance() -> None:
    along = np.array([[5.0, 0.0, 1.0], [-5.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, -2.0, 1.0]])
    plane = fit_plane(along)
    assert plane.axes == pytest.approx(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    assert plane.explained == pytest.approx((50 / 58, 8 / 58))
    assert plane.project(np.array([[1.0, 2.0, 9.0]])) == pytest.approx(np.array([[1.0, 2.0]]))


def test_plane_keeps_the_distances_of_states_that_lie_in_one() -> None:
    flat = STATES[:, :2] @ np.random.default_rng(1).normal(size=(2, 40))
    points = fit_plane(flat).project(flat)
    for first in range(12):
        assert distances(points, points[[first] * 12]) == pytest.approx(distances(flat, flat[[first] * 12]))


@pytest.mark.parametrize("rows", [1, 2])
def test_directions_that_do_not_exist_are_zero(rows: int) -> None:
    plane = fit_plane(STATES[:rows])
    assert plane.explained == pytest.approx((float(rows > 1), 0.0))
    assert not plane.axes[1].any()
    assert np.isfinite(plane.project(STATES)).all()
