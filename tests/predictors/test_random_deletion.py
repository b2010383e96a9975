"""Random deletion: the base classifier sees a subsequence of the words and nothing else."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiny_models import tiny_classifier
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.predictors.smoothing import ESTIMATE, SELECT, RandomWordDelete, RandomWordMask, WordAssembler
from unfooled.predictors.smoothing.vote_labels import RememberedAnswers

TEXT = "the film is good and the plot is not bad"


def test_what_is_left_depends_on_the_words_that_are_left_alone(any_classifier: TextModel) -> None:
    """Two texts with the same kept words give the same tokens, wherever the others were."""
    assembler = WordAssembler(any_classifier)
    words = TEXT.split()
    first, second = assembler.read_all([(TEXT,), (f"oh {TEXT} indeed",)])
    compared = 0
    for kept in product((False, True), repeat=4):
        flags = [*kept, *[False] * (len(words) - 4)]
        here = assembler.left(first, flags)
        there = assembler.left(second, [False, *flags, False])
        alone = " ".join(word for word, shown in zip(words, flags, strict=True) if shown)
        (read,) = assembler.read_all([(alone,)])
        again = assembler.left(read, [True] * sum(kept))
        assert here.ids == there.ids == again.ids
        compared += 1
    assert compared == 16


def test_each_word_is_deleted_with_the_rate(bert: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many tokens are left follows the binomial distribution, and draws for other ends are others."""
    predictor = RandomWordDelete(rates=(0.75,))
    encoded = bert.encode([TEXT])
    sampler = predictor.sampler(bert, encoded, seed=0, purpose=SELECT)
    shown: list[bytes] = []
    own = RememberedAnswers.labels

    def spy(self: RememberedAnswers, draws: Any, *given: Any) -> Any:
        shown.extend(flags for _, flags in draws)
        return own(self, draws, *given)

    monkeypatch.setattr(RememberedAnswers, "labels", spy)
    sampler.counts([(0, 0, 4000)])
    kept = np.array([list(flags) for flags in shown])
    assert kept.shape == (4000, len(TEXT.split()))
    # Each word's share is within five standard deviations of 0.25, and words are kept independently.
    assert np.abs(kept.mean(axis=0) - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 4000)
    pairs = np.corrcoef(kept.T.astype(float)) - np.eye(kept.shape[1])
    assert np.abs(pairs).max() < 5 / np.sqrt(4000)
    before = list(shown)
    shown.clear()
    sampler.again(ESTIMATE).counts([(0, 0, 4000)])
    assert shown != before


def test_draws_do_not_depend_on_how_they_are_asked_for(bert: TextModel) -> None:
    predictor = RandomWordDelete(rates=(0.6,))
    encoded = bert.encode([TEXT, "a dull story", "good"])
    together = predictor.sampler(bert, encoded, seed=3, purpose=SELECT).counts([(n, 0, 50) for n in range(3)])
    for number, item in enumerate(encoded):
        sampler = predictor.sampler(bert, [item], seed=3, purpose=SELECT)
        parts = [sampler.counts([(0, start, 10)])[0] for start in range(0, 50, 10)]
        assert (sum(parts) == together[number]).all()


def test_a_draw_that_came_before_is_not_asked_again(bert: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four words have 16 subsets: no more is asked, whatever the number of draws and calls."""
    text, asked = "bold old cold war", 0
    own = TextModel.forward

    def spy(self: TextModel, batch: Any, **given: Any) -> Any:
        nonlocal asked
        asked += len(batch)
        return own(self, batch, **given)

    monkeypatch.setattr(TextModel, "forward", spy)
    for predictor, subsets in ((RandomWordDelete(rates=(0.5,)), 16), (RandomWordMask(kept=2), 6)):
        (encoded,) = bert.encode([text])
        once = predictor.sampler(bert, [encoded], seed=1, purpose=SELECT).counts([(0, 0, 640)])[0]
        asked = 0
        sampler = predictor.sampler(bert, [encoded, encoded], seed=1, purpose=SELECT)
        parts = [sampler.counts([(0, start, 64), (1, start, 64)]) for start in range(0, 640, 64)]
        assert asked == subsets
        for owner in (0, 1):
            assert (sum(part[owner] for part in parts) == once).all()


def test_everything_deleted_is_a_text_too(bert: TextModel) -> None:
    predictor = RandomWordDelete(rates=(0.99,), votes=200)
    (decision,) = predictor.decide(bert, bert.encode(["good"]))
    assert sum(decision.votes[0]) == 200


def test_pairs_keep_their_boundary() -> None:
    bert = tiny_classifier("bert")
    assembler = WordAssembler(bert)
    (words,) = assembler.read_all([("the film", "is good")])
    both = assembler.left(words, [True, False, False, True])
    (whole,) = bert.encode(["the"], ["good"])
    assert both.ids == whole.ids
    assert both.type_ids == whole.type_ids


@given(st.integers(0, 60), st.integers(-60, 60))
def test_the_rate_is_the_same_inside_the_room_of_a_bin(words: int, change: int) -> None:
    predictor = RandomWordDelete(rates=(0.5, 0.7, 0.9), bins=(10, 25))
    room = predictor.within_bin(words)
    assert room is None or room >= 0
    if words + change >= 0 and (room is None or abs(change) <= room):
        assert predictor.rate(words + change) == predictor.rate(words)


def test_one_rate_has_no_edge() -> None:
    assert RandomWordDelete().within_bin(7) is None
    two = RandomWordDelete(rates=(0.5, 0.9), bins=(10,))
    assert [two.within_bin(words) for words in (0, 8, 10, 11, 14)] == [10, 2, 0, 0, 3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rates": (0.5, 0.9)}, "one rate more than"),
        ({"rates": (1.0,)}, "below 1"),
        ({"rates": (0.5, 0.9, 0.9), "bins": (20, 10)}, "rising"),
    ],
)
def test_settings_that_make_no_sense_are_refused(bert: TextModel, settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RandomWordDelete(**settings).check(bert)
