"""A replacement takes the form of the word it replaces."""

from __future__ import annotations

import pytest

from unfooled.lexicon.inflection import form_like, same_form


@pytest.mark.parametrize(
    ("word", "lemma", "pos", "expected"),
    [
        ("movies", "film", "NOUN", "films"),
        ("women", "child", "NOUN", "children"),
        ("film", "movie", "NOUN", "movie"),
        ("ran", "walk", "VERB", "walked"),
        ("walked", "see", "VERB", "saw"),
        ("seen", "go", "VERB", "gone"),
        ("makes", "carry", "VERB", "carries"),
        ("making", "run", "VERB", "running"),
        ("found", "make", "VERB", "made"),
        ("better", "bad", "ADJ", "worse"),
        ("worst", "good", "ADJ", "best"),
        ("faster", "soon", "ADV", "sooner"),
        ("Movies", "film", "NOUN", "films"),
        ("movies", "film", None, "films"),
        ("ran", "walk", None, "walked"),
        ("good", "bad", None, "bad"),
    ],
)
def test_lemma_takes_the_form_of_the_word(word: str, lemma: str, pos: str | None, expected: str) -> None:
    assert same_form(word, lemma, pos) == expected


def test_unlisted_lemma_follows_the_regular_rule() -> None:
    assert same_form("movies", "zorp", "NOUN") == "zorps"
    assert same_form("walked", "zorp", "VERB") == "zorped"


def test_no_comparative_is_invented() -> None:
    assert form_like("better", "excellent", "ADJ") is None
    assert same_form("better", "excellent", "ADJ") == "excellent"


def test_unknown_word_leaves_the_lemma_alone() -> None:
    assert same_form("qwrtz", "film", "NOUN") == "film"
    assert same_form("the", "film", "DET") == "film"
