"""Largest value of a function of one variable, for many inputs at once.

A grid finds the hill, golden section climbs it. Every point tried gives a valid bound, so a maximum that
is missed costs radius and nothing else: nothing here needs the function to have one hill only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unfooled.statistics.checks import Floats

GOLDEN = (5**0.5 - 1) / 2


def highest(
    function: Callable[[Floats], Floats],
    low: float,
    high: float,
    *,
    shape: tuple[int, ...],
    points: int = 80,
    steps: int = 34,
) -> Floats:
    """The largest value of ``function`` seen on [low, high], ends included, for each of ``shape`` inputs.

    ``function`` takes the variable, of that shape, and returns a value for each input.
    """
    grid = np.linspace(low, high, points)
    best = np.full(shape, -np.inf)
    where = np.zeros(shape, dtype=np.intp)
    for number, x in enumerate(grid):
        value = function(np.full(shape, x))
        better = value > best
        best, where = np.where(better, value, best), np.where(better, number, where)
    left, right = grid[np.maximum(where - 1, 0)], grid[np.minimum(where + 1, points - 1)]
    for _ in range(steps):
        width = GOLDEN * (right - left)
        a, b = right - width, left + width
        at_a, at_b = function(a), function(b)
        best = np.maximum(best, np.maximum(at_a, at_b))
        left, right = np.where(at_a < at_b, a, left), np.where(at_a < at_b, right, b)
    return best
