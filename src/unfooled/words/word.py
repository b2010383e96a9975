"""What a word is, for attacks, certificates and the lexicon alike.

A word is a run of letters and digits with their accents and vowel signs, and ``' - _ * @`` inside. Each run
of these characters holds at most one word: from its first letter or digit to its last, and the marks on that
one. So replacing a word by any other full match of ``WORD`` leaves all other words of the text as they are.
Synonym certificates, which count replaced words, rest on this.
"""

from __future__ import annotations

import re
import unicodedata


def _marks() -> str:
    """Combining marks (Unicode's category M) for use in a character class; ``re`` has no name for them."""
    blocks = (range(0x300, 0x1F000), range(0xE0100, 0xE01F0))
    marks = [code for block in blocks for code in block if unicodedata.category(chr(code))[0] == "M"]
    first = [code for code, before in zip(marks, [0, *marks], strict=False) if code != before + 1]
    last = [code for code, after in zip(marks, [*marks[1:], 0], strict=True) if code != after - 1]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(first, last, strict=True))


MARKS = _marks()
WORD = re.compile(rf"[^\W_][{MARKS}]*(?:[\w'’*@{MARKS}-]*[^\W_][{MARKS}]*)?")


def in_case_of(model: str, word: str) -> str:
    """``word`` in the case of ``model``: UPPER, Title, or as it is."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    if model[:1].isupper():
        return word[:1].upper() + word[1:]
    return word


def same_in_any_case(word: str) -> bool:
    """Whether a lower-case word comes back when its capitals are made small again.

    «straße» does not: its capitals are «STRASSE», which read as «strasse», another word.
    """
    return word.upper().lower() == word and all(letter.upper().lower() == letter for letter in word)
