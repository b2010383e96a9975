"""Word radii against every base classifier there is, on vocabularies small enough to list them all."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unfooled.statistics.bounds import masked_words, synonym_words


def every_classifier(inputs: int, classes: int = 2) -> np.ndarray:
    """(classifiers, inputs): each function from the inputs to the classes once."""
    number = np.arange(classes**inputs)[:, None]
    return (number // classes ** np.arange(inputs)) % classes


def distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(("total", "kept"), [(3, 1), (3, 2), (4, 1), (5, 1), (3, 3)])
def test_masked_words_hold_for_every_base_classifier_and_no_more_would(total: int, kept: int) -> None:
    texts = list(itertools.product((0, 1), repeat=total))
    sets = list(itertools.combinations(range(total), kept))
    seen = {key: i for i, key in enumerate(itertools.product(sets, itertools.product((0, 1), repeat=kept)))}
    looks = np.array([[seen[s, tuple(text[i] for i in s)] for s in sets] for text in texts])
    votes = every_classifier(len(seen))[:, looks].sum(axis=-1)  # (classifiers, texts), for class 1
    radius = [masked_words(count / len(sets), total, kept) for count in range(len(sets) + 1)]
    broken = set()
    for i, j in itertools.product(range(len(texts)), repeat=2):
        r = distance(texts[i], texts[j])
        majority_lost = 2 * votes[:, j] <= len(sets)
        for count in range(len(sets) // 2 + 1, len(sets) + 1):
            here = votes[:, i] == count
            if r <= radius[count]:
                assert not (here & majority_lost).any()
            elif r == radius[count] + 1 and (here & majority_lost).any():
                broken.add(count)
    expected = {c for c in range(len(sets) // 2 + 1, len(sets) + 1) if radius[c] < total}
    assert broken == expected


@settings(max_examples=60)
@given(st.floats(0, 1), st.integers(1, 60), st.data())
def test_masked_words_is_the_largest_certified_number(p_top: float, total: int, data: st.DataObject) -> None:
    kept = data.draw(st.integers(0, total))
    r = masked_words(p_top, total, kept)

    def certified(r: int) -> bool:
        lost = 1 - Fraction(math.comb(total - r, kept), math.comb(total, kept))
        return Fraction(math.nextafter(p_top, 0)) - lost > Fraction(1, 2)

    assert type(r) is int
    assert r == max([0, *(i for i in range(total + 1) if certified(i))])


def test_masked_words_ties_are_not_certified() -> None:
    assert masked_words(1.0, 4, 1) == 1  # two words of four: 1 − ½ is not more than ½
    assert masked_words(0.75, 4, 1) == 0
    assert masked_words(0.9, 10, 1) == 3  # nine of ten, although the double 0.9 is a little more
    assert masked_words(0.75 + 1e-15, 4, 1) == 1
    assert masked_words(0.5, 10, 1) == 0


def test_masked_words_broadcast_and_keep_up_with_long_texts() -> None:
    assert masked_words([[0.9], [1.0]], [10, 100], 1).tolist() == [[3, 39], [4, 49]]
    assert masked_words(1.0, 100_000, 10_000) == 6
    assert masked_words(1.0, 10, 0) == 10


SETS = {0: {0, 1, 2}, 1: {0, 1, 2}, 2: {0, 1, 2, 3}, 3: {2, 3}}


def overlap(a: set[int], b: set[int]) -> float:
    return len(a & b) / max(len(a), len(b))


def seen_text(text: tuple[int, ...], sets: dict[int, set[int]]) -> np.ndarray:
    """The distribution of the text after every word was redrawn from its set."""
    one = [np.array([(w in sets[word]) / len(sets[word]) for w in sets]) for word in text]
    return np.multiply.outer(*one).ravel()


def worst_overlaps(text: tuple[int, ...], sets: dict[int, set[int]]) -> list[float]:
    return [min(overlap(sets[word], sets[other]) for other in sets[word] | {word}) for word in text]


@pytest.mark.parametrize(("sets", "classes"), [(SETS, 2), ({0: {0, 1}, 1: {0, 1, 2}, 2: {0, 1, 2}}, 3)])
def test_synonym_words_hold_for_every_base_classifier(sets: dict[int, set[int]], classes: int) -> None:
    texts = list(itertools.product(sets, repeat=2))
    classifiers = every_classifier(len(texts), classes)
    share = np.stack([seen_text(text, sets) for text in texts])  # (texts, redrawn texts)
    p = np.stack([(classifiers == c) @ share.T for c in range(classes)])  # (classes, classifiers, texts)
    ordered = np.sort(p, axis=0)
    p_top, p_second = np.clip(ordered[-1], 0, 1), np.clip(ordered[-2], 0, 1)
    answer = p.argmax(axis=0)
    checked = 0
    for i, text in enumerate(texts):
        top = np.minimum(p_top[:, i], 1 - p_second[:, i])
        radius = synonym_words(top, p_second[:, i], worst_overlaps(text, sets))
        for j, other in enumerate(texts):
            allowed = all(b in sets[a] | {a} for a, b in zip(text, other, strict=True))
            if allowed and i != j:
                covered = radius >= distance(text, other)
                assert (answer[covered, i] == answer[covered, j]).all()
                checked += int(covered.sum())
    assert checked > 0


def test_synonym_overlap_is_one_minus_total_variation_and_products_bound_it() -> None:
    for text, other in itertools.product(itertools.product(SETS, repeat=2), repeat=2):
        variation = 1 - np.minimum(seen_text(text, SETS), seen_text(other, SETS)).sum()
        bound = 1 - math.prod(overlap(SETS[a], SETS[b]) for a, b in zip(text, other, strict=True))
        assert variation <= bound + 1e-12
        if distance(text, other) == 1:
            assert variation == pytest.approx(bound)


@settings(max_examples=60)
@given(st.floats(0, 1), st.floats(0, 1), st.lists(st.fractions(0, 1, max_denominator=50), max_size=8))
def test_synonym_words_never_exceeds_exact_arithmetic(
    p_top: float, share: float, overlaps: list[Fraction]
) -> None:
    p_second = share * min(p_top, 1 - p_top)
    certified, product = 0, Fraction(1)
    gap = Fraction(p_top) - Fraction(p_second)
    for number, value in enumerate(sorted(overlaps), start=1):
        product *= value
        if gap <= 2 * (1 - product):
            break
        certified = number
    ours = synonym_words(p_top, p_second, [float(value) for value in overlaps])
    assert type(ours) is int and ours <= certified
    margin = [abs(gap - 2 * (1 - math.prod(sorted(overlaps)[: i + 1]))) for i in range(len(overlaps))]
    if all(m > Fraction(1, 10**12) for m in margin):
        assert ours == certified


def test_synonym_words_cases() -> None:
    assert synonym_words(1.0, 0.0, [0.75, 1.0, 0.75]) == 3  # 0.5625 of the draws are common
    assert synonym_words(1.0, 0.0, [0.5, 0.5]) == 0  # a tie
    assert synonym_words(0.9, 0.1, []) == 0
    assert synonym_words(0.4, 0.5, [1.0]) == 0
    assert synonym_words([0.6, 0.9, 1.0], [0.4, 0.1, 0.0], [0.8, 0.7]).tolist() == [0, 1, 2]
    assert synonym_words(0.9, 0.1, [[0.9, 0.95], [1.0, 1.0]]).tolist() == [2, 2]
