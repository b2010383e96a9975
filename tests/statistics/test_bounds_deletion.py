"""Random deletion: the radius holds against every text and classifier of a tiny world."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from unfooled.certificates.radii import as_majority
from unfooled.statistics.bounds import (
    deletion_deletions,
    deletion_edits,
    deletion_insertions,
    deletion_words,
)

Words = tuple[int, ...]
ALPHABET = (0, 1)
RATE = Fraction(3, 4)


def every_text(longest: int) -> list[Words]:
    return [text for size in range(longest + 1) for text in itertools.product(ALPHABET, repeat=size)]


def deleted(text: Words, rate: Fraction = RATE) -> dict[Words, Fraction]:
    """The distribution of what is left of a text."""
    found: dict[Words, Fraction] = {}
    for kept in itertools.product((False, True), repeat=len(text)):
        rest = tuple(word for word, shown in zip(text, kept, strict=True) if shown)
        chance = math.prod((1 - rate if shown else rate for shown in kept), start=Fraction(1))
        found[rest] = found.get(rest, Fraction(0)) + chance
    return found


def hardest(x: Words, other: Words, rate: Fraction) -> list[tuple[Fraction, Fraction]]:
    """(μ(x), μ(x′)) of the classifiers that lose most between two texts, one per number of class members.

    By Neyman and Pearson they give the class to what x′ shows least often relative to x, best first.
    """
    here, there = deleted(x, rate), deleted(other, rate)
    order = sorted(here, key=lambda rest: there.get(rest, Fraction(0)) / here[rest])
    totals, mine, theirs = [], Fraction(0), Fraction(0)
    for rest in order:
        mine, theirs = mine + here[rest], theirs + there.get(rest, Fraction(0))
        totals.append((mine, theirs))
    return totals


@pytest.mark.full
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(3, 4), Fraction(15, 16)])
def test_no_classifier_of_a_tiny_world_breaks_its_certificate(rate: Fraction) -> None:
    certified = 0
    texts = every_text(4)
    for x in texts:
        for other in texts:
            distance = Levenshtein.distance(x, other)
            for mine, theirs in hardest(x, other, rate):
                if distance and deletion_edits(float(mine), float(rate)) >= distance:
                    certified += 1
                    assert theirs > Fraction(1, 2), (x, other, mine, theirs)
                if distance and len(x) == len(other):
                    changed = sum(a != b for a, b in zip(x, other, strict=True))
                    if changed and deletion_words(float(mine), float(rate)) >= changed:
                        assert theirs > Fraction(1, 2)
    assert certified > 100 or rate == Fraction(1, 2)


@pytest.mark.parametrize(("kind", "radius"), [("gain", deletion_insertions), ("lose", deletion_deletions)])
def test_texts_that_only_gain_or_lose_words_keep_their_answer(kind: str, radius: object) -> None:
    rate, certified = Fraction(3, 4), 0
    texts = every_text(4)
    for shorter in texts:
        for longer in texts:
            gap = len(longer) - len(shorter)
            if gap < 1 or Levenshtein.distance(shorter, longer) != gap:
                continue
            x, other = (shorter, longer) if kind == "gain" else (longer, shorter)
            for mine, theirs in hardest(x, other, rate):
                if radius(float(mine), float(rate)) >= gap:  # type: ignore[operator]
                    certified += 1
                    assert theirs > Fraction(1, 2)
    assert certified > 50


def test_a_classifier_attains_the_bound_for_replacements() -> None:
    """Every word of x replaced by words that x does not hold: the class is what x′ cannot show."""
    rate, r = Fraction(15, 16), 3
    x, other = (0, 0, 0, 1), (2, 2, 2, 1)
    here, there = deleted(x, rate), deleted(other, rate)
    # The class: everything that shows a replaced word of x, and of what both can show, as much as is needed.
    both = [rest for rest in here if rest in there]
    shown_by_both = sum(here[rest] for rest in both)
    assert shown_by_both == rate**r
    # With μ(x) = 1 − p^r + q, where q is the class's share of what both show, μ(x′) can be q alone.
    q = here[(1,)]
    mine = 1 - shown_by_both + q
    assert mine - 1 + rate**r == q
    assert there[(1,)] == q


@given(st.floats(0.5, 1.0), st.floats(0.0, 0.99), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_no_mix_of_edits_is_worse_than_replacements(
    p_top: float, rate: float, replaced: int, removed: int, added: int
) -> None:
    r = int(deletion_edits(p_top, rate))
    total = replaced + removed + added
    if not 0 < total <= r:
        return
    p, mu = Fraction(rate), Fraction(p_top)
    lost, gained = replaced + removed, replaced + added
    assert p**gained * (mu - 1 + p**lost) / p**lost > Fraction(1, 2)


@given(st.floats(0.0, 1.0), st.floats(0.0, 0.999))
def test_one_more_edit_would_not_be_covered(p_top: float, rate: float) -> None:
    r = int(deletion_words(p_top, rate))
    top, p = Fraction(math.nextafter(p_top, 0.0)), Fraction(rate)
    if r:
        assert top - 1 + p**r > Fraction(1, 2)
    assert top <= Fraction(1, 2) or not top - 1 + p ** (r + 1) > Fraction(1, 2)


@given(st.floats(0.5, 1.0), st.floats(0.5, 1.0), st.floats(0.0, 0.99), st.floats(0.0, 0.99))
def test_radius_grows_with_the_probability_and_with_the_rate(
    p: float, q: float, rate: float, other: float
) -> None:
    for radius in (deletion_words, deletion_insertions, deletion_deletions):
        assert radius(min(p, q), rate) <= radius(max(p, q), rate)
        assert radius(p, min(rate, other)) <= radius(p, max(rate, other))


@given(st.floats(0.0, 1.0), st.floats(0.0, 0.99))
def test_single_kinds_of_edits_keep_at_least_as_much(p_top: float, rate: float) -> None:
    assert deletion_insertions(p_top, rate) >= deletion_edits(p_top, rate)
    assert deletion_deletions(p_top, rate) >= deletion_edits(p_top, rate)


@pytest.mark.parametrize("rate", [Fraction(3, 4), Fraction(15, 16)])
def test_no_lead_of_three_classes_of_a_tiny_world_breaks_its_certificate(rate: Fraction) -> None:
    """Random classifiers with three classes; what leads by enough leads after every edit that is covered."""
    chance, certified = random.Random(0), 0
    texts = every_text(3)
    shown = {text: deleted(text, rate) for text in texts}
    for _ in range(60):
        weights = [chance.random() for _ in range(3)]
        classes = {text: chance.choices(range(3), weights)[0] for text in texts}
        shares = {
            text: [sum(p for rest, p in shown[text].items() if classes[rest] == one) for one in range(3)]
            for text in texts
        }
        for x in texts:
            first, second, _ = sorted(shares[x], reverse=True)
            radius = int(deletion_edits(as_majority(float(first), float(second)), float(rate)))
            for other in texts:
                if 0 < Levenshtein.distance(x, other) <= radius:
                    certified += radius > int(deletion_edits(float(first), float(rate)))
                    leader = shares[x].index(first)
                    assert max(shares[other]) == shares[other][leader]
                    assert sorted(shares[other])[1] < shares[other][leader]
    assert certified > 10, "the lead covered more than the majority alone"


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 0.99), st.integers(0, 6), st.integers(0, 6))
def test_a_lead_that_is_covered_holds_for_every_number_of_lost_and_gained_words(
    first: float, second: float, rate: float, lost: int, gained: int
) -> None:
    if first + second > 1 or first <= second:
        return
    r = int(deletion_edits(as_majority(first, second), rate))
    if max(lost, gained) > r:
        return
    p, top, other = Fraction(rate), Fraction(first), Fraction(second)
    least = p**gained * (top - 1 + p**lost) / p**lost
    most = 1 - p**gained + p**gained * min(Fraction(1), other / p**lost)
    assert least > most


def test_known_radii() -> None:
    # 0.9^r > 0.5 + (1 - 0.99): 0.9^6 = 0.531, 0.9^7 = 0.478.
    assert deletion_words(0.99, 0.9) == 6
    assert deletion_words(0.55, 0.9) == 0
    assert deletion_words([0.99, 0.5, 1.0], 0.9).tolist() == [6, 0, 6]
    # A tie is no certificate: 0.75 − 1 + 0.75 = ½.
    assert deletion_words(0.75, 0.75) == 0
    assert np.asarray(deletion_words(1.0, 0.0)) == 0


def test_a_rate_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="below 1"):
        deletion_words(0.9, 1.0)
