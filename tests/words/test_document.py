"""A document keeps everything an edit does not name, and says what was changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unfooled.words.document import Document

TEXT = "A gorgeous, WITTY film -- it's n't dull; don’t miss co-op's #1 e@mail!  "


def test_words_are_letters_and_digits_with_marks_inside() -> None:
    assert Document.of(TEXT).words == (
        "A", "gorgeous", "WITTY", "film", "it's", "n't", "dull", "don’t", "miss", "co-op's", "1", "e@mail",
    )  # fmt: skip
    assert Document.of("!!! 😀 …", "").words == ()


@pytest.mark.parametrize(
    "words",
    [
        ("The", "cafe\u0301", "was", "good"),  # the accent is a character of its own
        ("re\u0301sume\u0301", "n\u0303"),
        ("हिन्दी", "फ़िल्म", "अच्छी"),
        ("מִדְבָּר", "שָׁלוֹם"),
        ("l'e\u0301te\u0301", "co-ope\u0301"),
    ],
)
def test_accents_and_vowel_signs_belong_to_their_word(words: tuple[str, ...]) -> None:
    document = Document.of(", ".join(words) + "!")
    assert document.words == words
    assert document.replace(0, "x", keep_case=False).texts == (", ".join(("x", *words[1:])) + "!",)


def test_a_mark_without_a_letter_is_no_word() -> None:
    assert Document.of("\u0301 …\u0301 a").words == ("a",)


def test_spans_point_at_the_words_of_both_texts() -> None:
    document = Document.of("A man plays.", "The man sleeps!")
    assert [which for which, _, _ in document.spans] == [0, 0, 0, 1, 1, 1]
    assert document.words == ("A", "man", "plays", "The", "man", "sleeps")


def test_replacement_takes_the_case_of_the_word_and_leaves_the_rest() -> None:
    document = Document.of(TEXT)
    assert document.replace(2, "clever").texts[0] == TEXT.replace("WITTY", "CLEVER")
    assert document.replace(0, "one").texts[0] == "One" + TEXT[1:]
    assert document.replace(0, "[UNK]", keep_case=False).texts[0] == "[UNK]" + TEXT[1:]
    assert Document.of("I like IT").replace(0, "we").texts == ("We like IT",)


def test_changes_name_the_place_in_the_original() -> None:
    original = Document.of("a long film", "a new film")
    changed = original.replace(1, "lengthy").replace(4, "quite fresh")
    assert changed.texts == ("a lengthy film", "a quite fresh film")
    assert [(c.word, c.which, c.start, c.end, c.before, c.after) for c in changed.changes_from(original)] == [
        (1, 0, 2, 6, "long", "lengthy"),
        (4, 1, 2, 5, "new", "quite fresh"),
    ]


def test_deletion_takes_one_space_along() -> None:
    document = Document.of("it does n't work")
    assert document.delete(0).texts == ("does n't work",)
    assert document.delete(1).texts == ("it n't work",)
    assert document.delete(3).texts == ("it does n't",)
    assert document.delete(2).delete(1).texts == document.delete(1).delete(2).texts == ("it work",)
    assert document.delete(1).delete(2).words == ("it", "", "", "work")


words = st.text(alphabet="abcXYZ", min_size=1, max_size=6)
glue = st.sampled_from([" ", ", ", "  ", " -- ", "! ", "\n"])


@given(st.lists(st.tuples(words, glue), min_size=1, max_size=8), st.data())
def test_edits_in_any_order_keep_numbers_and_places(
    pieces: list[tuple[str, str]], data: st.DataObject
) -> None:
    document = Document.of("".join(word + space for word, space in pieces))
    assert document.words == tuple(word for word, _ in pieces)
    expected = list(document.words)
    for number in data.draw(st.lists(st.integers(0, len(pieces) - 1), unique=True)):
        if data.draw(st.booleans()):
            document, expected[number] = document.delete(number), ""
        else:
            replacement = data.draw(words)
            document = document.replace(number, replacement, keep_case=False)
            expected[number] = replacement
        assert document.words == tuple(expected)
        assert document.words == tuple(map(document.word, range(len(document))))
        assert document.spans == tuple(map(document.span, range(len(document))))
        assert all(0 <= start <= end <= len(document.texts[0]) for _, start, end in document.spans)
        starts = [start for _, start, _ in document.spans]
        assert starts == sorted(starts)


def test_a_deleted_word_can_be_put_back() -> None:
    document = Document.of("a new film")
    for number in (1, 2, 0):
        document = document.delete(number)
    assert document.texts == ("",)
    for number, word in enumerate(("A", "long", "film")):
        document = document.replace(number, word)
        assert document.word(number) == word
    assert document.words == ("A", "long", "film")


@given(st.lists(st.tuples(words, glue), min_size=1, max_size=8), st.dictionaries(st.integers(0, 7), words))
def test_replacing_at_once_is_replacing_one_by_one(
    pieces: list[tuple[str, str]], replacements: dict[int, str]
) -> None:
    document = one_by_one = Document.of("".join(word + space for word, space in pieces))
    replacements = {number: word for number, word in replacements.items() if number < len(document)}
    for number, word in replacements.items():
        one_by_one = one_by_one.replace(number, word)
    assert document.replace_all(replacements) == one_by_one
