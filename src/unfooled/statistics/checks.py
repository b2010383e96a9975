"""Inputs of the certificate mathematics: checked by name, broadcast, and given back as they came.

Scalars in, a Python ``float`` or ``int`` out; anything with an axis in, an array out. What cannot be a
probability, a noise level or a count raises :class:`ValueError` with the argument's name: a certificate
must never rest on a number that was silently repaired.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NumberOrArray: TypeAlias = Any
"""A number for numbers, an array for arrays, as NumPy's own functions give."""

SUM_ROUNDING = 1e-12  # by how much p_top + p_second may exceed one


def real(name: str, value: ArrayLike) -> Floats:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got {value!r}.") from error
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {_first(array, ~np.isfinite(array))}.")
    return array


def positive(name: str, value: ArrayLike) -> Floats:
    array = real(name, value)
    if not (array > 0).all():
        raise ValueError(f"{name} must be greater than 0, got {_first(array, array <= 0)}.")
    return array


def unit(name: str, value: ArrayLike) -> Floats:
    """Values in [0, 1]: probabilities and overlaps."""
    array = real(name, value)
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ValueError(f"{name} must lie between 0 and 1, got {_first(array, outside)}.")
    return array


def level(name: str, value: float) -> float:
    """An error rate or threshold strictly between 0 and 1."""
    number = real(name, value)
    if number.ndim or not 0 < number < 1:
        raise ValueError(f"{name} must be one number between 0 and 1, both excluded, got {value!r}.")
    return float(number)


def probabilities(p_top: ArrayLike, p_second: ArrayLike) -> tuple[Floats, Floats]:
    """The two class probabilities, broadcast against each other; together at most one."""
    top, second = np.broadcast_arrays(unit("p_top", p_top), unit("p_second", p_second))
    total = top + second
    if (total > 1 + SUM_ROUNDING).any():
        raise ValueError(
            f"p_top + p_second must not exceed 1, got {_first(total, total > 1 + SUM_ROUNDING)}. "
            "An upper bound for the second class can always be cut at 1 - p_top."
        )
    return top, second


def whole(name: str, value: ArrayLike, *, at_least: int = 0) -> Integers:
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got {value!r}.")
    if (array < at_least).any():
        raise ValueError(f"{name} must be at least {at_least}, got {_first(array, array < at_least)}.")
    return array.astype(np.int64)


def given_back(result: NDArray[Any]) -> NumberOrArray:
    """A Python number for scalar inputs, the array otherwise."""
    return result.item() if np.ndim(result) == 0 else result


def _first(array: NDArray[Any], where: NDArray[np.bool_]) -> Any:
    return np.atleast_1d(array)[np.atleast_1d(where)][0].item()
