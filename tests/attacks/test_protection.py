"""Words and phrases that a user protects are left alone, however they are written."""

from __future__ import annotations

import pytest

from unfooled.attacks import Example, Limits
from unfooled.attacks.attempt import Attempt
from unfooled.words.document import Document

TEXT = "I love NEW  York and C++ in the U.S., but don't rock ’n’ roll, film-makers: a film from York"


def left_alone(text: str, *protect: str, pattern: str | None = None) -> list[str]:
    limits = Limits(protect=protect, protect_pattern=pattern)
    attempt = Attempt(Example(0, (text,), 1), limits, 0, False)
    free = set(attempt.changeable)
    return [word for number, word in enumerate(Document.of(text).words) if number not in free]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("New York", ["NEW", "York"]),
        ("york", ["York", "York"]),
        ("C++", ["C"]),
        ("U.S.", ["U", "S"]),
        ("don’t", ["don't"]),
        ("rock 'n' roll", ["rock", "n", "roll"]),
        ("film", ["film"]),
        ("don", []),
        ("New Yor", []),
        ("from York City", []),
        ("  ", []),
        ("(", []),
    ],
)
def test_an_entry_covers_the_words_that_lie_in_it(entry: str, expected: list[str]) -> None:
    assert left_alone(TEXT, entry) == expected


def test_entries_may_overlap_and_add_to_a_pattern() -> None:
    text = "New York City has 3 good parks"
    assert left_alone(text, "New York", "York City", pattern=r"\d \w+") == [
        "New",
        "York",
        "City",
        "3",
        "good",
    ]


@pytest.mark.parametrize(("entry", "text"), [("café", "a cafe\u0301"), ("cafe\u0301", "a café")])
def test_accents_may_be_composed_or_not(entry: str, text: str) -> None:
    assert left_alone(text, entry) == [text.split()[1]]
    assert left_alone(text, entry + " bar") == left_alone(text, "cafe") == []
    assert left_alone(f"a {text.split()[1].upper()} bar", entry + " bar")[1:] == ["bar"]


def test_case_is_folded() -> None:
    assert left_alone("die STRASSE und die straße", "Straße") == ["STRASSE", "straße"]


def test_an_entry_of_a_pair_is_found_in_both_texts() -> None:
    limits = Limits(protect=("New York",))
    attempt = Attempt(Example(0, ("New York is big", "is new york big"), 1), limits, 0, False)
    assert attempt.changeable == [2, 3, 4, 7]
