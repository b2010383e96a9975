"""How far an attack moves hidden states, layer by layer, and a plane to look at them.

Moon et al. 2023, Fig. 2, compare the ℓ2 distance and the cosine of clean and attacked states; Chen et al.
2022, Fig. 5, show the last states in two dimensions. They use t-SNE; here it is PCA fitted on the clean
states, where distances mean something, nothing is random, and an attack cannot move the axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unfooled.files import JsonObject
from unfooled.statistics.intervals import student_mean

Array = NDArray[np.float64]


def distances(clean: Array, attacked: Array) -> Array:
    """ℓ2 distance of each row, ``(inputs,)``."""
    return np.linalg.norm(attacked - clean, axis=1)


def cosines(clean: Array, attacked: Array) -> Array:
    """Cosine of each pair of rows, ``(inputs,)``; a zero vector has cosine 1 with itself, 0 with others."""
    lengths = np.linalg.norm(clean, axis=1) * np.linalg.norm(attacked, axis=1)
    found = (clean * attacked).sum(axis=1) / np.where(lengths > 0, lengths, 1.0)
    same = (clean == attacked).all(axis=1)
    return np.where(same, 1.0, np.clip(found, -1.0, 1.0))


def drift(clean: Sequence[Array], attacked: Sequence[Array]) -> JsonObject:
    """Mean ℓ2 distance and cosine of every layer with 95 % intervals (Student's t), none of a single input.

    ``clean`` and ``attacked`` hold one array ``(inputs, width)`` a layer, row for row of the same input.
    """
    result: JsonObject = {"inputs": len(clean[0])}
    measures = (("l2", distances, 0.0, math.inf), ("cosine", cosines, -1.0, 1.0))
    for name, measure, least, most in measures:
        layers = [
            student_mean(measure(*states).tolist(), at_least=least, at_most=most)
            for states in zip(clean, attacked, strict=True)
        ]
        result[name] = [mean for mean, _ in layers]
        intervals = [list(interval) for _, interval in layers if interval is not None]
        result[f"{name}_interval"] = intervals or None
    return result


@dataclass(frozen=True)
class Plane:
    """The two directions in which fitted states vary most."""

    centre: Array
    axes: Array
    """``(2, width)``; rows of zeros where the states vary in fewer directions."""
    explained: tuple[float, float]
    """The share of the variance that lies along each axis."""

    def project(self, states: Array) -> Array:
        """Coordinates ``(inputs, 2)``."""
        return (states - self.centre) @ self.axes.T


def fit_plane(states: Array) -> Plane:
    """PCA of ``(inputs, width)`` by singular values; the largest entry of each axis is positive."""
    centre = states.mean(axis=0)
    _, sizes, directions = np.linalg.svd(states - centre, full_matrices=False)
    total = float((sizes**2).sum())
    axes = np.zeros((2, states.shape[1]))
    explained = [0.0, 0.0]
    for number in range(min(2, len(sizes))):
        # Rounding alone makes no direction: below this, the states do not vary any more.
        if sizes[number] > 1e-9 * max(1.0, float(np.abs(states).max())):
            axis = directions[number]
            axes[number] = axis * np.sign(axis[np.abs(axis).argmax()])
            explained[number] = float(sizes[number] ** 2) / total
    return Plane(centre, axes, (explained[0], explained[1]))
