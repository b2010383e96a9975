"""Unit noise from random bits: normal numbers by Box and Muller (1958), Laplace numbers by inversion.

A 64-bit word gives two normal numbers: 40 bits for the radius √(−2 ln u), which reach 7.5 standard deviations
(what lies beyond has a probability of 5e-14 per number), and 24, the precision of the result, for the angle.
Or it gives one Laplace number: a sign, and −ln u of 40 bits, which reach 28. Every step is one operation per
word, so a number depends on its word alone; NumPy's vector instructions make that more than twice as fast as
its ziggurat, which takes one number after another. Other processors may round the last bit otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unfooled.models.noise import NoiseKind
from unfooled.predictors.smoothing.streams import NoiseWords

WordArray = NDArray[np.uint64]
_FRACTION = np.float32(2.0**-40)
_TURN = np.float32(2 * np.pi / 2**24)
_AT_ONCE = 1 << 13
"""Words that are worked on together: they, and what is made of them, stay in a processor's cache."""


def words_per_draw(values: int, kind: NoiseKind) -> int:
    """Words for so many numbers; a multiple of four, since a counter gives four."""
    words = -(-values // 2) if kind == "gaussian" else values
    return -(-words // 4) * 4


def fill(out: NDArray[np.float32], stream: NoiseWords, key: int, first: int, kind: NoiseKind) -> None:
    """Unit noise of the draws from number ``first`` of a key, written into ``out`` ``(draws, values)``."""
    width = words_per_draw(out.shape[1], kind)
    rows = max(1, _AT_ONCE // width)
    make = _normal if kind == "gaussian" else _laplace
    stream.move(key, first * (width // 4))
    for start in range(0, len(out), rows):
        part = out[start : start + rows]
        make(part, stream.read(len(part), width))


def _normal(out: NDArray[np.float32], words: WordArray) -> None:
    values = out.shape[1]
    half = -(-values // 2)
    words = words[:, :half]
    radius = _minus_log(words)
    radius *= np.float32(2)
    np.sqrt(radius, out=radius)
    words &= np.uint64(0xFFFFFF)
    angle = words.view(np.int64).astype(np.float32)
    angle *= _TURN
    cosines = np.cos(angle, out=out[:, :half])
    cosines *= radius
    np.sin(angle, out=angle)
    angle *= radius
    out[:, half:] = angle[:, : values - half]


def _laplace(out: NDArray[np.float32], words: WordArray) -> None:
    words = words[:, : out.shape[1]]
    size = _minus_log(words)
    words &= np.uint64(1)
    sign = words.view(np.int64).astype(np.float32)
    sign *= np.float32(2)
    sign -= np.float32(1)
    np.multiply(size, sign, out=out)


def _minus_log(words: WordArray) -> NDArray[np.float32]:
    """−ln u, exponential numbers, of the upper 40 bits; u is from 2⁻⁴¹ to 1."""
    found = (words >> np.uint64(24)).view(np.int64).astype(np.float32)
    found += np.float32(0.5)
    found *= _FRACTION
    np.log(found, out=found)
    return np.negative(found, out=found)
