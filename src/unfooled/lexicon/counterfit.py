"""Counter-fitting word vectors to synonyms and antonyms (Mrkšić et al. 2016, §2).

Three terms: antonyms are pushed until their cosine distance reaches δ (antonym repel), synonyms are
pulled until it is at most γ (synonym attract), and words closer than ρ in the original space are pulled
back when they drift apart (vector space preservation). As in the authors' code, each epoch takes one
step along the mean of a word's gradients. Deviations: the mean is taken within each term, so that one
antonym is not outvoted by forty neighbours (east/west); synonyms may carry weights below one; and the
vectors are first centred and freed of their few largest components (Mu & Viswanath 2018), without which
GloVe's cosine of 0.5 means «same topic» rather than «same meaning».
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unfooled.errors import UserError
from unfooled.lexicon.vectors import Vectors, unit
from unfooled.settings import setting

WordPair = tuple[str, str]
RowNumbers = NDArray[np.int64]
_BLOCK = 2048


@dataclass(frozen=True)
class CounterFitting:
    """Settings of :func:`counter_fit`; the paper's values, but for the removed components."""

    repel: float = setting(0.1, "weight of antonym repel (k1)", at_least=0)
    attract: float = setting(0.1, "weight of synonym attract (k2)", at_least=0)
    preserve: float = setting(0.1, "weight of vector space preservation (k3)", at_least=0)
    antonym_distance: float = setting(1.0, "cosine distance antonyms must reach (δ)", at_least=0, at_most=2)
    synonym_distance: float = setting(0.0, "cosine distance synonyms may keep (γ)", at_least=0, at_most=2)
    radius: float = setting(0.2, "cosine distance of neighbours to preserve (ρ)", at_least=0, at_most=2)
    epochs: int = setting(20, "steps of gradient descent", at_least=1, at_most=10_000)
    removed: int = setting(3, "largest principal components removed first (D)", at_least=0)


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows with a weight each, or with the cosine they had."""

    first: RowNumbers
    second: RowNumbers
    value: NDArray[np.float32]

    def where(self, chosen: NDArray[np.bool_]) -> _Pairs:
        return _Pairs(self.first[chosen], self.second[chosen], self.value[chosen])


def counter_fit(
    vectors: Vectors,
    synonyms: Mapping[WordPair, float] | Iterable[WordPair],
    antonyms: Iterable[WordPair],
    *,
    settings: CounterFitting | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Unit rows fitted to the pairs; ``synonyms`` may map each pair to its weight.

    Words without a vector are ignored, and a pair of synonyms that are also antonyms is dropped.
    ``progress`` is called with the epochs done and their number.
    """
    settings = settings or CounterFitting()
    original = all_but_the_top(vectors.matrix, settings.removed)
    size = len(original)
    repelled = _rows(vectors, dict.fromkeys(antonyms, 1.0))
    weights = synonyms if isinstance(synonyms, Mapping) else dict.fromkeys(synonyms, 1.0)
    attracted = _without(_rows(vectors, weights), repelled, size=size)
    preserved = _without(_close(original, settings.radius), repelled, attracted, size=size)

    matrix = original
    for epoch in range(settings.epochs):
        apart = repelled.where(_cosines(matrix, repelled) > 1 - settings.antonym_distance)
        together = attracted.where(_cosines(matrix, attracted) < 1 - settings.synonym_distance)
        drifted = preserved.where(_cosines(matrix, preserved) < preserved.value - 1e-6)
        drifted = _Pairs(drifted.first, drifted.second, np.ones_like(drifted.value))
        step = settings.attract * _pull(matrix, together)
        step -= settings.repel * _pull(matrix, apart)
        step += settings.preserve * _pull(matrix, drifted)
        matrix = unit(matrix + step)
        if progress is not None:
            progress(epoch + 1, settings.epochs)
    return matrix


def all_but_the_top(matrix: NDArray[np.float32], components: int) -> NDArray[np.float32]:
    """Unit rows, centred and without their largest principal components; unchanged for 0 components."""
    rows = unit(matrix)
    if components == 0:
        return rows
    rows -= rows.mean(axis=0)
    _, directions = np.linalg.eigh((rows.T @ rows).astype(np.float64))
    top = directions[:, -components:].astype(np.float32)
    rows -= (rows @ top) @ top.T
    return unit(rows)


def median_cosine(vectors: Vectors, pairs: Iterable[WordPair]) -> float:
    """The median cosine of the pairs whose words both have a vector."""
    found = _cosines(vectors.matrix, _rows(vectors, dict.fromkeys(pairs, 1.0)))
    return float(np.median(found)) if len(found) else float("nan")


def check_fit(
    before: Vectors, after: Vectors, synonyms: Iterable[WordPair], antonyms: Iterable[WordPair]
) -> None:
    """Refuse vectors in which antonyms are no further apart than synonyms, or known opposites got closer."""
    together, apart = median_cosine(after, synonyms), median_cosine(after, antonyms)
    failures = []
    if not apart < together:
        failures.append(f"the median cosine of antonyms is {apart:.2f}, that of synonyms {together:.2f}")
    for a, b in (("cheap", "expensive"), ("good", "bad"), ("east", "west")):
        old, new = before.cosine(a, b), after.cosine(a, b)
        if old is not None and new is not None and not new < old:
            failures.append(f"{a} and {b} did not move apart ({old:.2f} to {new:.2f})")
    if failures:
        raise UserError(
            f"Counter-fitting failed its check: {'; '.join(failures)}. Check the synonym file that was given."
        )


def _pull(matrix: NDArray[np.float32], pairs: _Pairs) -> NDArray[np.float32]:
    """For each row the weighted mean of -∂distance/∂row, which is v - cos(u, v) u for unit rows."""
    from scipy.sparse import csr_matrix

    size = len(matrix)
    here = np.concatenate([pairs.first, pairs.second])
    there = np.concatenate([pairs.second, pairs.first])
    weight = np.concatenate([pairs.value, pairs.value])
    cosine = np.tile(_cosines(matrix, pairs), 2)
    total = csr_matrix((weight, (here, there)), shape=(size, size)) @ matrix
    total -= np.bincount(here, weight * cosine, size).astype(np.float32)[:, None] * matrix
    # Weights that sum to less than one stay weak: a word whose only synonym is a rare sense moves little.
    norm = np.maximum(np.bincount(here, weight, size), 1.0).astype(np.float32)
    return np.asarray(total / norm[:, None], dtype=np.float32)


def _cosines(matrix: NDArray[np.float32], pairs: _Pairs) -> NDArray[np.float32]:
    return np.asarray(np.einsum("ij,ij->i", matrix[pairs.first], matrix[pairs.second]), dtype=np.float32)


def _rows(vectors: Vectors, weights: Mapping[WordPair, float]) -> _Pairs:
    """Each pair once, the lower row first, with its largest weight; words without a vector left out."""
    found: dict[tuple[int, int], float] = {}
    for (a, b), weight in weights.items():
        first, second = vectors.row(a), vectors.row(b)
        if first is not None and second is not None and first != second and weight > 0:
            key = (first, second) if first < second else (second, first)
            found[key] = max(found.get(key, 0.0), weight)
    rows = np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
    return _Pairs(rows[:, 0], rows[:, 1], np.array([found[key] for key in sorted(found)], dtype=np.float32))


def _close(matrix: NDArray[np.float32], radius: float) -> _Pairs:
    """Pairs within ``radius`` of each other in the original space, with their cosines."""
    parts = []
    for start in range(0, len(matrix), _BLOCK):
        # Only the upper triangle: each pair once, and half the products.
        scores = matrix[start : start + _BLOCK] @ matrix[start:].T
        first, second = np.nonzero(scores >= 1 - radius)
        upper = first < second
        first, second = first[upper], second[upper]
        parts.append((first + start, second + start, scores[first, second]))
    first, second, cosine = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Pairs(first, second, cosine)


def _without(pairs: _Pairs, *others: _Pairs, size: int) -> _Pairs:
    taken = np.concatenate([other.first * size + other.second for other in others])
    return pairs.where(~np.isin(pairs.first * size + pairs.second, taken))
