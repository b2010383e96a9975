"""An embedding radius read as words: how many substitutions it covers, and which single ones lie inside it.

With noise at the embeddings, replacing a word by one with as many tokens moves the input by the distance of
their token embeddings. If the r largest possible moves have squares that sum to at most R², any r
substitutions stay inside the ball. Substitutes with another number of tokens are not covered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ROUNDED_UP = 1 + 1e-9  # more than double-precision sums of a few thousand terms can be wrong


def distances(
    embeddings: NDArray[np.floating], original: Sequence[int], variants: ArrayLike, *, norm: str = "l2"
) -> NDArray[np.float64]:
    """How far each variant lies from the original, rounded up.

    ``embeddings`` is the table ``(vocabulary, width)``, ``original`` token ids, ``variants`` token ids of
    the same length, ``(variants, tokens)``. The norm is over all coordinates of all tokens, l2, l1 or linf,
    or the largest Euclidean distance of a token, each-word.
    """
    ids, others = np.asarray(original), np.asarray(variants, dtype=np.int64).reshape(-1, len(original))
    found = np.zeros(len(others))
    for number, row in enumerate(others):
        places = np.flatnonzero(row != ids)
        moved = np.abs(embeddings[row[places]].astype(np.float64) - embeddings[ids[places]])
        if not moved.size:
            continue
        if norm == "l2":
            found[number] = math.sqrt(math.fsum((moved**2).ravel().tolist()))
        elif norm == "each-word":
            found[number] = np.sqrt((moved**2).sum(axis=1)).max()
        else:
            found[number] = moved.sum() if norm == "l1" else moved.max()
    return found * _ROUNDED_UP


def words_covered(largest_moves: ArrayLike, radius: float) -> int:
    """The most words r such that any r of them may be replaced within the ℓ2 radius.

    ``largest_moves`` holds, for each word that has substitutes, the largest distance to one of them.
    """
    moves = np.sort(np.asarray(largest_moves, dtype=np.float64))[::-1]
    sums = np.cumsum(moves**2) * _ROUNDED_UP
    return int(np.count_nonzero(sums <= radius**2))
