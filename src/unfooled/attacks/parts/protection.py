"""The words a user wants left alone: entries of ``protect``, and matches of ``protect_pattern``.

An entry is a word or a phrase as it is written («New York», «C++», «don't»): any case, any spacing, any kind
of apostrophe, accents composed or not. It covers the words that lie in it as a whole: «film» leaves
«film-maker» free. A pattern covers every word that it touches.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from unfooled.attacks.limits import Limits
from unfooled.words.document import Document, Span
from unfooled.words.word import MARKS

_APOSTROPHES = "'’‘ʼ＇"


def protected(document: Document, limits: Limits) -> set[int]:
    """The numbers of the words that must not change."""
    entries = [
        (which, match.start(), match.end())
        for entry in limits.protect
        if (pattern := entry_pattern(entry)) is not None
        for which, text in enumerate(document.texts)
        for match in pattern.finditer(text)
    ]
    touched = _touched(document, limits.protect_pattern)
    folded = {_plain(entry) for entry in limits.protect}
    return {
        number
        for number, (word, (which, start, end)) in enumerate(zip(document.words, document.spans, strict=True))
        if _plain(word) in folded
        or any(w == which and s <= start and end <= e for w, s, e in entries)
        or any(w == which and s < end and start < e for w, s, e in touched)
    }


@lru_cache(maxsize=256)
def entry_pattern(entry: str) -> re.Pattern[str] | None:
    """Where an entry stands in a text, with no letter or digit just before or after it; None for nothing."""
    forms = dict.fromkeys(unicodedata.normalize(form, entry.strip()) for form in ("NFC", "NFD"))
    written = [r"\s+".join(map(_spelt, form.split())) for form in forms if form]
    if not written:
        return None
    return re.compile(rf"(?<![\w{MARKS}])(?:{'|'.join(written)})(?![\w{MARKS}])", re.IGNORECASE)


def _spelt(word: str) -> str:
    return "".join(f"[{_APOSTROPHES}]" if letter in _APOSTROPHES else re.escape(letter) for letter in word)


def _plain(word: str) -> str:
    """Casefolded («ß» is «ss») and composed, with one kind of apostrophe."""
    folded = unicodedata.normalize("NFC", word).casefold()
    return re.sub(f"[{_APOSTROPHES}]", "'", folded)


def _touched(document: Document, pattern: str | None) -> list[Span]:
    if not pattern:
        return []
    return [
        (which, match.start(), match.end())
        for which, text in enumerate(document.texts)
        for match in re.finditer(pattern, text)
    ]
