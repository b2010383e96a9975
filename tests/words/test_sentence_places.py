"""Sentences are found by their punctuation, in several alphabets."""

from __future__ import annotations

from unfooled.words.sentence_places import sentence_around, sentences


def shown(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def test_sentences_end_at_their_punctuation() -> None:
    assert shown('He won. "Really?" she said… It cost 3.5 million!') == [
        "He won.",
        '"Really?"',
        "she said…",
        "It cost 3.5 million!",
    ]
    assert shown("彼は勝った。東京で！\nNo end") == ["彼は勝った。", "東京で！", "No end"]
    assert shown(" \n") == []


def test_the_sentence_around_an_answer_is_found() -> None:
    text = "Ann sat. Bob stood up. Eve ran."
    start = text.index("stood")
    first, last = sentence_around(text, start, start + 5)
    assert text[first:last] == "Bob stood up."
    first, last = sentence_around(text, text.index("up"), text.index("ran"))
    assert text[first:last] == "Bob stood up. Eve ran."
    assert sentence_around("", 0, 0) == (0, 0)
