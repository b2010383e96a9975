"""Word vectors and their exact nearest neighbours by cosine.

>>> vectors = load_vectors("counter-fitted")            # or "glove", "glove-50d", or a file of your own
>>> vectors.neighbours("awful", count=3, min_cosine=0.5)
(('terrible', 0.95...), ...)

The matrix is a memory map; the counter-fitted vectors come with the neighbours of every word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unfooled import assets
from unfooled.errors import UsageError

NearWords = tuple[tuple[str, float], ...]
_NAMES = ("counter-fitted", "glove", "glove-50d")
_BLOCK = 1024  # words whose cosines to the whole vocabulary are held at once


class Vectors:
    """Unit vectors (float32, one row per word). Words are looked up whatever their case.

    ``table`` holds the rows and the cosines of each word's nearest neighbours, nearest first; without
    one, neighbours are computed when they are first asked for and remembered.
    """

    def __init__(
        self,
        words: Iterable[str],
        matrix: NDArray[np.float32],
        *,
        table: tuple[NDArray[np.int32], NDArray[np.float32]] | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.words = tuple(words)
        self.matrix = matrix
        self._table = table
        self._fingerprint = fingerprint
        self._row: dict[str, int] = {}
        for number, word in enumerate(self.words):
            self._row.setdefault(word.lower(), number)
        self._memo: dict[int, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
        self._answers: dict[tuple[str, int, float], NearWords] = {}

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word.lower() in self._row

    def __len__(self) -> int:
        return len(self.words)

    def row(self, word: str) -> int | None:
        """The word's row of the matrix, or ``None`` if it has no vector."""
        return self._row.get(word.lower())

    def cosine(self, a: str, b: str) -> float | None:
        """The cosine of two words, or ``None`` if one of them has no vector."""
        first, second = self.row(a), self.row(b)
        if first is None or second is None:
            return None
        return float(np.clip(self.matrix[first] @ self.matrix[second], -1.0, 1.0))

    def neighbours(self, word: str, count: int = 50, min_cosine: float = 0.0) -> NearWords:
        """The ``count`` nearest other words with a cosine of at least ``min_cosine``, nearest first."""
        key = (word, count, min_cosine)
        if key not in self._answers:
            self._answers[key] = self.neighbour_table([word], count, min_cosine)[word]
        return self._answers[key]

    def neighbour_table(
        self, words: Iterable[str], count: int = 50, min_cosine: float = 0.0
    ) -> dict[str, NearWords]:
        """The neighbours of many words at once; a word without a vector has none."""
        if count < 1:
            raise UsageError(f"count must be at least 1, got {count}.")
        rows = {word: self.row(word) for word in words}
        wanted = sorted({row for row in rows.values() if row is not None and self._known(row, count) is None})
        if wanted:
            near, cosines = nearest(self.matrix, wanted, count, keys=self._keys())
            for position, row in enumerate(wanted):
                self._memo[row] = near[position], cosines[position]
        return {
            word: () if row is None else self._listed(row, count, min_cosine) for word, row in rows.items()
        }

    def fingerprint(self) -> str:
        """SHA-256 of what these vectors were made of: files and settings, or their own bytes."""
        if self._fingerprint is None:
            digest = hashlib.sha256("\n".join(self.words).encode())
            digest.update(np.ascontiguousarray(self.matrix).tobytes())
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def _known(self, row: int, count: int) -> tuple[NDArray[np.int32], NDArray[np.float32]] | None:
        if self._table is not None and min(count, len(self) - 1) <= self._table[0].shape[1]:
            return self._table[0][row], self._table[1][row]
        memo = self._memo.get(row)
        return memo if memo is not None and len(memo[0]) >= min(count, len(self) - 1) else None

    def _listed(self, row: int, count: int, min_cosine: float) -> NearWords:
        known = self._known(row, count)
        assert known is not None
        near, cosines = known[0][:count], known[1][:count]
        close = int(np.count_nonzero(cosines >= max(min_cosine, -1.0)))  # they are sorted
        words = [self.words[other] for other in near[:close].tolist()]
        return tuple(zip(words, cosines[:close].tolist(), strict=True))

    def _keys(self) -> NDArray[np.int32] | None:
        """The first row of each word's lower-case form, where some words differ only in case."""
        if len(self._row) == len(self.words):
            return None
        return np.array([self._row[word.lower()] for word in self.words], dtype=np.int32)


def nearest(
    matrix: NDArray[np.float32],
    rows: list[int] | NDArray[Any],
    count: int,
    *,
    keys: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Rows and cosines of the ``count`` nearest other rows, nearest first; (len(rows), count).

    Rows with the same key are the same word. Where fewer than ``count`` other words exist, the rest has
    the cosine -2.
    """
    rows = np.asarray(rows)
    count = min(count, len(matrix) - 1)
    near = np.empty((len(rows), count), dtype=np.int32)
    cosines = np.empty((len(rows), count), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        scores = matrix[block] @ matrix.T
        np.clip(scores, -1.0, 1.0, out=scores)
        scores[np.arange(len(block)), block] = -2.0
        if keys is not None:
            scores[keys[block][:, None] == keys] = -2.0
        for line, values in enumerate(scores, start):
            best = np.argpartition(values, -count)[-count:] if count else np.empty(0, dtype=np.int32)
            best = best[np.lexsort((best, -values[best]))]
            near[line], cosines[line] = best, values[best]
    return near, cosines


def unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length one; a row of zeros stays as it is."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def load_vectors(name: str | Path = "counter-fitted", *, ppdb: Path | None = None) -> Vectors:
    """Vectors by name, or from a text file: lines «word 0.1 0.2 …», perhaps after a line «rows columns».

    ``counter-fitted`` is GloVe fitted to WordNet's synonyms and antonyms, and to the paraphrases in the
    file ``ppdb`` if one is given; the first call computes it (about a minute) and keeps it.
    """
    if name not in _NAMES and not Path(name).is_file():
        raise UsageError(
            f"There are no word vectors {str(name)!r}. Use {', '.join(_NAMES)}, or the path of a text file."
        )
    if ppdb is not None and name != "counter-fitted":
        raise UsageError("ppdb can be used only with the counter-fitted vectors.")
    if ppdb is not None and not Path(ppdb).is_file():
        raise UsageError(f"There is no PPDB file {str(ppdb)!r}.")
    # The cache folder is part of the key: tests and users may point UNFOOLED_CACHE elsewhere.
    return _loaded(str(name), None if ppdb is None else str(ppdb), str(assets.cache_dir()))


@lru_cache(maxsize=4)
def _loaded(name: str, ppdb: str | None, cache: str) -> Vectors:
    from unfooled.lexicon import counterfitted, vector_files

    if name == "counter-fitted":
        return counterfitted.load(ppdb=None if ppdb is None else Path(ppdb))
    if name in _NAMES:
        return vector_files.load_asset(name)
    return vector_files.load_text(Path(name))
