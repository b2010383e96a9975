"""Texts made from others: every character knows where it came from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unfooled.words.alignment import left_words, rewritten, spaced_words
from unfooled.words.word import WORD

TEXTS = st.text(alphabet="ab é́-'., \n👍🏽ß", max_size=40)


@given(TEXTS, st.randoms(use_true_random=False))
def test_what_is_left_is_the_kept_words_and_each_is_found_again(text: str, chance) -> None:
    places = spaced_words(text)
    kept = [chance.random() < 0.5 for _ in places]
    made = left_words(text, kept)
    assert made.text.split() == [
        text[slice(*place)] for place, stays in zip(places, kept, strict=True) if stays
    ]
    for place, stays in zip(places, kept, strict=True):
        here = made.made(place)
        if stays:
            assert made.text[slice(*here)] == text[slice(*place)]
            assert made.original(here) == place
        else:
            assert here == (0, 0)


@given(TEXTS, st.randoms(use_true_random=False))
def test_a_rewritten_word_counts_as_a_whole_and_all_else_by_characters(text: str, chance) -> None:
    new = [chance.choice(["x", "longer", None]) for _ in WORD.finditer(text)]
    made = rewritten(text, lambda number, word: new[number])
    found = 0
    for match, own in zip(WORD.finditer(text), new, strict=True):
        start, end = here = made.made(match.span())
        assert made.text[start:end] == (match[0] if own is None else own)
        assert made.original(here) == match.span()
        if own is not None:
            assert made.original((start, start + 1)) == made.original((end - 1, end)) == match.span()
        else:
            assert made.original((start, start + 1)) == (match.start(), match.start() + 1)
        found += 1
    between = WORD.sub("", text)
    assert len(made.text) == len(between) + sum(
        len(match[0] if own is None else own) for match, own in zip(WORD.finditer(text), new, strict=True)
    )
    assert found == len(new)
