"""Every bound alike: what it refuses, what it returns, and that it loads no framework."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unfooled.statistics import bounds
from unfooled.statistics.noise_budget import split_noise

RADII = {
    "gaussian": lambda p, q, s: bounds.gaussian_l2(p, q, s),
    "renyi": lambda p, q, s: bounds.renyi_l2(p, q, s),
    "laplace": lambda p, q, s: bounds.laplace_l1(p, q, s),
    "pixeldp": lambda p, q, s: bounds.pixeldp_l2(p, q, s),
    "composed": lambda p, q, s: bounds.composed_l2(p, q, [s, 2 * s]),
    "composed-linf": lambda p, q, s: bounds.composed_linf(p, q, [s, 2 * s], 10),
    "composed-each-word": lambda p, q, s: bounds.composed_each_word(p, q, [s, 2 * s], 10),
}
every_radius = pytest.mark.parametrize("radius", RADII.values(), ids=RADII.keys())
CONTINUOUS = [bounds.gaussian_l2, bounds.renyi_l2, bounds.laplace_l1, bounds.pixeldp_l2]


@pytest.mark.parametrize(
    "module", ["unfooled.certificates", "unfooled.statistics.bounds", "unfooled.statistics.confidence"]
)
def test_import_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@every_radius
@pytest.mark.parametrize(
    ("p_top", "p_second", "named"),
    [
        (-0.1, 0.1, "p_top"),
        (1.1, 0.0, "p_top"),
        (math.nan, 0.1, "p_top"),
        (math.inf, 0.1, "p_top"),
        (0.5, -1e-9, "p_second"),
        (0.5, math.nan, "p_second"),
        (0.7, 0.4, r"p_top \+ p_second"),
        ([0.9, 0.9], [0.1, 0.2], r"p_top \+ p_second"),
        ("high", 0.1, "p_top"),
    ],
)
def test_impossible_probabilities_are_refused_by_name(radius, p_top, p_second, named) -> None:
    with pytest.raises(ValueError, match=named):
        radius(p_top, p_second, 0.5)


@pytest.mark.filterwarnings("ignore::unfooled.statistics.bounds.UnsoundBoundWarning")
@pytest.mark.parametrize("noise", [0.0, -1.0, math.nan, math.inf])
def test_impossible_noise_is_refused_by_name(noise: float) -> None:
    for bound in CONTINUOUS:
        with pytest.raises(ValueError, match=r"sigma|scale"):
            bound(0.9, 0.1, noise)
    for bound in (bounds.composed_l2, bounds.rsmi_theorem1_radius):
        with pytest.raises(ValueError, match="sigmas"):
            bound(0.9, 0.1, [0.5, noise])
    with pytest.raises(ValueError, match="sigma"):
        split_noise(noise, 1.0)
    with pytest.raises(ValueError, match="sigma_1"):
        split_noise(0.5, noise)


def test_other_impossible_arguments_are_refused_by_name() -> None:
    for wrong, named in [
        (lambda: bounds.composed_l2(0.9, 0.1, []), "sigmas"),
        (lambda: bounds.composed_l2(0.9, 0.1, 0.5), "sigmas"),
        (lambda: bounds.composed_linf(0.9, 0.1, [0.5], 0), "dim"),
        (lambda: bounds.composed_linf(0.9, 0.1, [0.5], 2.5), "dim"),
        (lambda: bounds.composed_each_word(0.9, 0.1, [0.5], 0), "positions"),
        (lambda: bounds.composed_each_word(0.9, 0.1, [0.5], 2.5), "positions"),
        (lambda: bounds.composed_each_word(0.9, 0.1, [], 3), "sigmas"),
        (lambda: split_noise(0.5, 0.4), "sigma_1"),
        (lambda: bounds.masked_words(0.9, 5, 6), "kept_words"),
        (lambda: bounds.masked_words(0.9, 5, -1), "kept_words"),
        (lambda: bounds.masked_words(0.9, 0, 0), "total_words"),
        (lambda: bounds.masked_words(0.9, 5.5, 2), "total_words"),
        (lambda: bounds.masked_words(1.2, 5, 2), "p_top"),
        (lambda: bounds.synonym_words(0.9, 0.1, [0.5, 1.5]), "overlaps"),
        (lambda: bounds.synonym_words(0.9, 0.1, [0.5, math.nan]), "overlaps"),
        (lambda: bounds.synonym_words(0.9, 0.1, 0.5), "overlaps"),
        (lambda: bounds.synonym_words(0.9, 0.2, [0.5]), "p_second"),
        (lambda: bounds.gaussian_l2_probability(-1.0, 0.5), "radius"),
    ]:
        with pytest.raises(ValueError, match=named):
            wrong()


@every_radius
def test_sum_may_exceed_one_by_rounding_only(radius) -> None:
    assert radius(0.9, 0.1 + 5e-13, 0.5) > 0
    with pytest.raises(ValueError):
        radius(0.9, 0.1 + 5e-12, 0.5)


@every_radius
def test_scalars_give_floats_and_arrays_broadcast(radius) -> None:
    assert type(radius(0.9, 0.1, 0.5)) is float
    tops, seconds = np.array([[0.9], [0.7]]), np.array([0.02, 0.05, 0.1])
    table = radius(tops, seconds, 0.5)
    assert table.shape == (2, 3)
    one_by_one = [[radius(float(p), float(q), 0.5) for q in seconds] for p in tops[:, 0]]
    assert table == pytest.approx(np.array(one_by_one), rel=1e-12)


@every_radius
@pytest.mark.parametrize(("p_top", "p_second"), [(0.3, 0.3), (0.2, 0.5), (0.0, 0.0), (0.0, 1.0), (0.5, 0.5)])
def test_no_radius_without_a_lead(radius, p_top, p_second) -> None:
    assert radius(p_top, p_second, 0.5) == 0.0


@every_radius
def test_certainty_stays_finite_and_monotone(radius) -> None:
    tops = np.array([0.9, 1 - 1e-6, 1 - 1e-12, 1 - 1e-15, 1 - 2.0**-53, 1.0])
    radii = radius(tops, 1 - tops, 0.5)
    assert np.isfinite(radii).all() and (np.diff(radii) >= 0).all() and radii[-2] > 0
    assert np.isfinite(radius(1.0, 0.0, 8e307)) and radius(1.0, 0.0, 1e-300) > 0


@every_radius
@settings(max_examples=40)
@given(shares=st.tuples(*[st.floats(0, 1)] * 4), sigma=st.floats(1e-3, 1e3))
def test_more_lead_never_shrinks_a_radius(radius, shares, sigma) -> None:
    top, lead, second, drop = shares
    low = top / 2 + 0.25
    p_second = second * min(low, 1 - low)
    high = low + lead * (1 - p_second - low)
    slack = 1 + 1e-7  # of the numerical search
    assert radius(low, p_second, sigma) <= radius(high, p_second, sigma) * slack + 1e-7 * sigma
    assert radius(low, p_second, sigma) <= radius(low, p_second * drop, sigma) * slack + 1e-7 * sigma


@every_radius
@settings(max_examples=30)
@given(p_top=st.floats(0.5, 1), sigma=st.floats(1e-6, 1e6))
def test_radius_scales_with_the_noise(radius, p_top, sigma) -> None:
    assert radius(p_top, 1 - p_top, sigma) == pytest.approx(sigma * radius(p_top, 1 - p_top, 1.0), rel=1e-9)
