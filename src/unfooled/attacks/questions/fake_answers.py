"""Wrong answers of the same type as the right one: another year, number, name, place or thing.

The type is told by the answer and the question word, as far as that goes without a named-entity recogniser
(Jia & Liang 2017 have 26 types with one fake answer each; here each type has several, one is drawn).
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_NUMBER_WORDS = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "fifteen",
    "twenty",
    "thirty",
)
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
FAKES: dict[str, tuple[str, ...]] = {
    "person": ("Harold Bexley", "Martha Quill", "Jonas Albrecht", "Priya Raman", "Tomas Vega"),
    "place": ("Tallinn", "Montevideo", "Leeds", "Nagoya", "Wellington"),
    "group": ("the Halden Institute", "the Northern Union", "Corvus Industries", "the Lakeside Club"),
    "time": ("the spring of 1874", "August 1921", "the year 1688", "May 1997"),
    "thing": ("the copper lantern", "a wooden bridge", "the silver ledger", "a paper kite"),
    "quality": ("purple", "hollow", "seasonal", "distant"),
    "action": ("paint the fences", "count the barrels", "fold the maps"),
}


def fake_answer(question: str, answer: str, chooser: random.Random) -> str:
    """A wrong answer that could be one: never the right one, nor a part of it."""
    drawn = [_drawn(question.lower().split(), answer, chooser) for _ in range(8)]
    right = answer.lower()
    return next((one for one in drawn if one.lower() not in right and right not in one.lower()), drawn[0])


def _drawn(question: list[str], answer: str, chooser: random.Random) -> str:
    if _DIGITS.search(answer):
        changed = _DIGITS.sub(lambda found: other_number(found[0], chooser), answer)
        return re.sub("|".join(_MONTHS), lambda found: _other(_MONTHS, found[0], chooser), changed)
    if answer.lower() in _NUMBER_WORDS:
        return _other(_NUMBER_WORDS, answer.lower(), chooser)
    return chooser.choice(FAKES[_type(question, answer)])


def _type(question: list[str], answer: str) -> str:
    if "who" in question or "whom" in question or "whose" in question:
        return "person"
    if "where" in question or {"city", "country", "state", "place", "location"} & set(question):
        return "place"
    if "when" in question or {"year", "month", "day", "date", "century"} & set(question):
        return "time"
    words = answer.split()
    if all(word[:1].isupper() for word in words):
        return "person" if len(words) == 2 else "group" if len(words) > 2 else "place"
    if answer.lower().startswith("to "):
        return "action"
    return "thing" if len(words) > 1 or answer.endswith("s") else "quality"


def other_number(text: str, chooser: random.Random) -> str:
    """Another number of the same look: as many digits, a year stays near."""
    digits = text.replace(",", "")
    if "." in digits:
        return f"{float(digits) * chooser.choice((0.4, 1.7, 2.3)):.1f}"
    value = int(digits)
    if len(digits) == 4 and 1000 <= value <= 2100:
        return str(value + chooser.choice((-31, -17, -8, 9, 14, 23)))
    moved = max(1, value + chooser.choice((1, 2, 3, 5, 7)) * 10 ** max(0, len(digits) - 2))
    return f"{moved:,}" if "," in text else str(moved)


def _other(known: Sequence[str], own: str, chooser: random.Random) -> str:
    return chooser.choice([one for one in known if one != own])
