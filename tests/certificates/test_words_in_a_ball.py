"""An embedding radius read as words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from unfooled.certificates.distances import distances, words_covered


def test_distances_are_those_of_the_embeddings_rounded_up() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 6)).astype(np.float32)
    original, variants = [1, 2, 3, 4], [[1, 5, 3, 4], [1, 2, 3, 4], [7, 8, 3, 9]]
    moves = [(table[v].astype(float) - table[original].astype(float)).ravel() for v in variants]
    for norm, order in (("l2", 2), ("l1", 1), ("linf", np.inf)):
        found = distances(table, original, variants, norm=norm)
        true = [np.linalg.norm(move, ord=order) for move in moves]
        np.testing.assert_allclose(found, true, rtol=1e-8)
        assert (found >= true).all() and found[1] == 0
    found = distances(table, original, variants, norm="each-word")
    true = [np.linalg.norm(move.reshape(4, 6), axis=1).max() for move in moves]
    np.testing.assert_allclose(found, true, rtol=1e-8)
    assert (found >= true).all()


def test_any_choice_of_so_many_words_stays_inside_and_one_more_may_not() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        moves, radius = rng.random(6), float(rng.random() * 1.5)
        covered = words_covered(moves, radius)
        lengths = [
            [np.sqrt(sum(m**2 for m in chosen)) for chosen in itertools.combinations(moves, count)]
            for count in (covered, min(covered + 1, 6))
        ]
        assert max(lengths[0], default=0) <= radius
        assert covered == 6 or max(lengths[1]) > radius * (1 - 1e-8)


def test_words_without_substitutes_are_no_words() -> None:
    assert words_covered([], 1.0) == 0
    assert words_covered([0.5, 0.5], 0.0) == 0
    assert words_covered([3.0, 4.0], 5.0 - 1e-6) == 1
    assert words_covered([3.0, 4.0], 5.0 + 1e-6) == 2


@pytest.mark.parametrize("norm", ["l2", "l1", "linf", "each-word"])
def test_nothing_to_measure(norm: str) -> None:
    assert len(distances(np.ones((3, 2)), [1, 2], [], norm=norm)) == 0
