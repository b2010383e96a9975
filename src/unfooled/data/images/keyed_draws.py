"""Random numbers of a wrapper, keyed by (seed, row, access): not by batch, order, worker or resumption."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def uniform(keys: NDArray[np.uint64], draw: int) -> NDArray[np.float64]:
    """The ``draw``-th number of each key, in [0, 1)."""
    return (mixed(keys, draw) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def below(keys: NDArray[np.uint64], draw: int, bound: int) -> NDArray[np.int64]:
    """The ``draw``-th number of each key as a whole number from 0 to ``bound`` − 1."""
    return np.minimum((uniform(keys, draw) * bound).astype(np.int64), bound - 1)


def mixed(keys: NDArray[np.uint64], number: int) -> NDArray[np.uint64]:
    """Keys that look independent of each other and of those of other numbers (a step of splitmix64)."""
    with np.errstate(over="ignore"):
        found = keys + np.uint64(number + 1) * _STEP
        found = (found ^ (found >> np.uint64(30))) * _FIRST
        found = (found ^ (found >> np.uint64(27))) * _SECOND
    return found ^ (found >> np.uint64(31))


def row_keys(seed: int, split: str, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """One key per row of a split."""
    keys = mixed(rows.astype(np.uint64), seed)
    for letter in split.encode():
        keys = mixed(keys, letter)
    return keys
