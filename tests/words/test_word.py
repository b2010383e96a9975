"""One definition of a word: what synonym certificates rest on, and that attacks cut texts the same way."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unfooled.certificates.word_reader import swapped
from unfooled.lexicon.substitution import SubstitutionTable
from unfooled.predictors.smoothing.synonym_substitution import resampled
from unfooled.words.document import Document
from unfooled.words.word import WORD, in_case_of, same_in_any_case

MARKS = "\u0301\u0308\u0345\u05b4\u094d\u093f\ufe0f"
LETTERS = "aAbzßſİıΣσςéŉ\u1fb6ह中7٣"
ALPHABET = LETTERS + MARKS + "_-'’*@ .,/\u200d\n"
texts = st.text(ALPHABET, max_size=30)
words = st.text(LETTERS + MARKS + "_-'’*@", min_size=1, max_size=6).filter(WORD.fullmatch)


def words_of(text: str) -> list[str]:
    return [match[0] for match in WORD.finditer(text)]


@given(texts, words)
@example("well-known, o'clock's end_ -x- a*b (foo)_bar", "so-so")
@example("cafe\u0301-re\u0301_\u0301'x", "e\u0301")
@example("\u0301a\u0301\u0308_\u0301", "ß")
def test_replacing_a_word_leaves_all_other_words_as_they_are(text: str, other: str) -> None:
    spans = [match.span() for match in WORD.finditer(text)]
    for number, (start, end) in enumerate(spans):
        expected = words_of(text)
        expected[number] = other
        assert words_of(text[:start] + other + text[end:]) == expected


@given(texts, st.lists(words, min_size=3, max_size=3))
def test_replacing_every_word_at_once_keeps_their_number_and_order(text: str, others: list[str]) -> None:
    count = len(words_of(text))
    given_ = iter(others * (count // len(others) + 1))
    assert words_of(WORD.sub(lambda _: next(given_), text)) == (others * (count // len(others) + 1))[:count]


@given(texts)
@example("The cafe\u0301 was «re\u0301sume\u0301»")
def test_attack_certificate_and_redrawing_cut_the_same_words(text: str) -> None:
    document = Document.of(text)

    class Recorder(SubstitutionTable):
        def __init__(self) -> None:
            self.asked: list[str] = []

        def sampled(self, word: str) -> tuple[str, ...]:
            self.asked.append(word)
            return (word,)

    table = Recorder()
    assert resampled(text, table, lambda n: 0) == text
    swaps = list(swapped((text,), lambda word: ("other",)))
    assert list(document.words) == words_of(text) == table.asked == [swap.before for swap in swaps]
    for number, swap in enumerate(swaps):
        assert document.replace(number, "other").texts == swap.texts


@given(st.lists(st.tuples(words, words), min_size=1, max_size=6), st.data())
def test_a_listed_word_has_its_own_set_however_it_is_capitalised(
    pairs: list[tuple[str, str]], data: st.DataObject
) -> None:
    """The certificate counts P of the listed word; the text shows it in some case."""
    table = SubstitutionTable.of({a: [b] for a, b in pairs})
    for word in table.words:
        capitals = data.draw(st.lists(st.booleans(), min_size=len(word), max_size=len(word)))
        mixed = "".join(letter.upper() if big else letter for letter, big in zip(word, capitals, strict=True))
        for form in (word, word.upper(), in_case_of("Xy", word), in_case_of("XY", word), mixed):
            assert WORD.fullmatch(form) and table.sampled(form) == table.sampled(word)


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("film", True),
        ("cafe\u0301", True),
        ("o'clock", True),
        ("7up", True),
        ("straße", False),
        ("ſo", False),
    ],
)
def test_which_words_survive_capitals(word: str, same: bool) -> None:
    assert same_in_any_case(word) is same


def test_a_replacement_takes_the_case_of_what_it_replaces() -> None:
    assert in_case_of("GOOD", "fine") == "FINE"
    assert in_case_of("Good", "fine") == "Fine"
    assert in_case_of("I", "we") == "We"
    assert in_case_of("good", "USA") == "USA"
