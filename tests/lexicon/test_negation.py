"""Verbs are negated, and lose their negation, as English does it."""

from __future__ import annotations

import pytest

from unfooled.lexicon.sentence_negation import negations

PARTS = {
    **dict.fromkeys(("i", "you", "he", "it", "we", "they", "who", "it's", "he’s", "that"), "PRON"),
    **dict.fromkeys(("is", "was", "am", "can", "ca", "can't", "will", "do", "does", "did", "doesn't"), "AUX"),
    **dict.fromkeys(
        ("don't", "didn't", "isn't", "isn’t", "has", "have", "had", "could", "s", "won't"), "AUX"
    ),
    **dict.fromkeys(("like", "likes", "liked", "go", "going", "went", "made", "works", "work", "be"), "VERB"),
    **dict.fromkeys(("really", "always"), "ADV"),
    **dict.fromkeys(("not", "n't", "to"), "PART"),
    "good": "ADJ",
}


def variants(text: str) -> list[str]:
    words = text.split()
    found = []
    for edits in negations(words, [PARTS.get(word.lower(), "NOUN") for word in words]):
        changed = [edits.get(number, word) for number, word in enumerate(words)]
        found.append(" ".join(word for word in changed if word))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it is good", ["it is not good", "it isn't good"]),
        ("i am good", ["i am not good"]),
        ("it's good", ["it's not good"]),
        ("it s good", ["it s not good"]),
        ("it is not good", ["it is good"]),
        ("it isn't good", ["it is good"]),
        ("it isn’t good", ["it is good"]),
        ("it's not good", ["it's good"]),
        ("he’s good", ["he’s not good"]),
        ("i can go", ["i can not go", "i can't go"]),
        ("i can't go", ["i can go"]),
        ("i ca n't go", ["i can go"]),
        ("it won't work", ["it will work"]),
        ("cannot work", ["can work"]),
    ],
)
def test_auxiliaries(text: str, expected: list[str]) -> None:
    assert variants(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("he likes it", ["he does not like it", "he doesn't like it"]),
        ("they really like it", ["they really do not like it", "they really don't like it"]),
        ("he went home", ["he did not go home", "he didn't go home"]),
        ("he liked it", ["he did not like it", "he didn't like it"]),
        ("it has charm", ["it does not have charm", "it doesn't have charm"]),
        ("it has made money", ["it has not made money", "it hasn't made money"]),
        ("he does not like it", ["he likes it"]),
        ("he doesn't really like it", ["he really likes it"]),
        ("he did n't go", ["he went"]),
        ("we do n't have it", ["we have it"]),
        ("Don't go there", ["Go there"]),
        ("Don't be good", ["Be good"]),
    ],
)
def test_main_verbs_with_do(text: str, expected: list[str]) -> None:
    assert variants(text) == expected


def test_questions_keep_their_order() -> None:
    assert variants("is he good") == ["isn't he good"]
    assert variants("does he like it") == ["doesn't he like it"]
    assert variants("didn't they like it") == ["did they like it"]


@pytest.mark.parametrize(
    "text", ["a film made by fools", "to like films", "not a film", "a good film", "", "go home", "like it"]
)
def test_no_finite_verb_no_negation(text: str) -> None:
    assert variants(text) == []


def test_infinitives_and_participles_after_an_auxiliary_are_left() -> None:
    assert variants("it could have been good") == [
        "it could not have been good",
        "it couldn't have been good",
    ]
    assert variants("i can't do it") == ["i can do it"]


def test_contractions_are_written_as_the_text_writes_them() -> None:
    assert "it is n't good and i ca n't go" in variants("it is good and i ca n't go")
    assert "that isn’t good he’s good" in variants("that is good he’s good")
