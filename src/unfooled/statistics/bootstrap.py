"""Percentile bootstrap of means: for scores that are neither all 0 and 1 nor normal, such as F1 of answers.

Examples that belong together (questions on one paragraph) may be drawn together: they are not independent,
and an interval that takes them for independent is too narrow.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

DRAWS = 2000
SEED = 0
_AT_ONCE = 2**22
"""Numbers drawn at a time."""


def bootstrap_mean(
    values: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
) -> tuple[float, float] | None:
    """The interval of the mean of ``values``, the same for the same values; None for fewer than two groups.

    ``groups`` says which values are drawn together; without it, each value is drawn alone. A mean of means
    over all values: a group counts with all that it has.
    """
    if groups is not None and len(groups) != len(values):
        raise ValueError(f"{len(values)} values but {len(groups)} groups")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    sums, sizes = _by_group(values, range(len(values)) if groups is None else groups)
    if len(sums) < 2:
        return None
    means = _means(sums, sizes, draws)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    mean = float(sums.sum() / sizes.sum())
    return min(float(low), mean), max(float(high), mean)


def _by_group(
    values: Sequence[float], groups: Sequence[Hashable]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum and the number of the values of each group."""
    places: dict[Hashable, int] = {}
    index = np.array([places.setdefault(group, len(places)) for group in groups], dtype=np.int64)
    if not len(index):
        return np.zeros(0), np.zeros(0)
    own = np.asarray(values, dtype=np.float64)
    return np.bincount(index, weights=own).astype(np.float64), np.bincount(index).astype(np.float64)


def _means(sums: NDArray[np.float64], sizes: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
    generator = np.random.Generator(np.random.PCG64(SEED))
    found = []
    step = max(1, _AT_ONCE // len(sums))
    for first in range(0, draws, step):
        drawn = generator.integers(0, len(sums), (min(step, draws - first), len(sums)))
        found.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return np.concatenate(found)
