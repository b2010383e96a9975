"""A text (or a pair) as words with places, and edits that leave everything else as the user wrote it.

A word is a run of letters and digits, with ``' - _ * @`` inside. Word numbers stay the same under edits, so
the changes an attack made are read off by comparing word by word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

WORD = re.compile(r"[^\W_](?:[\w'’*@-]*[^\W_])?")


@dataclass(frozen=True)
class Change:
    """One changed word: its number, its place in the original text, and what stands there now."""

    word: int
    which: int
    """0 for the first text, 1 for the second of a pair."""
    start: int
    end: int
    before: str
    after: str


@dataclass(frozen=True)
class Document:
    """One input: its text or two texts, and the (which text, start, end) of each word.

    >>> Document.of("A gorgeous, WITTY film").replace(2, "clever").texts
    ('A gorgeous, CLEVER film',)
    """

    texts: tuple[str, ...]
    spans: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, *texts: str) -> Document:
        spans = [
            (which, match.start(), match.end())
            for which, text in enumerate(texts)
            for match in WORD.finditer(text)
        ]
        return cls(tuple(texts), tuple(spans))

    def __len__(self) -> int:
        """Number of words."""
        return len(self.spans)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(self.texts[which][start:end] for which, start, end in self.spans)

    def replace(self, word: int, replacement: str, *, keep_case: bool = True) -> Document:
        """A copy with one word replaced, in the case of the word it replaces."""
        return self.replace_all({word: replacement}, keep_case=keep_case)

    def replace_all(self, replacements: Mapping[int, str], *, keep_case: bool = True) -> Document:
        """A copy with several words replaced at once."""
        texts, spans = list(self.texts), list(self.spans)
        moved = [0] * len(texts)
        for number, (which, start, end) in enumerate(self.spans):
            start, end = start + moved[which], end + moved[which]
            if number in replacements:
                before = texts[which][start:end]
                after = replacements[number]
                if keep_case:
                    after = in_case_of(before, after)
                texts[which] = texts[which][:start] + after + texts[which][end:]
                moved[which] += len(after) - (end - start)
                end = start + len(after)
            spans[number] = (which, start, end)
        return Document(tuple(texts), tuple(spans))

    def delete(self, word: int) -> Document:
        """A copy without the word and one of the spaces around it."""
        which, start, end = self.spans[word]
        text = self.texts[which]
        if text[end : end + 1] == " ":
            end += 1
        elif end == len(text) and text[start - 1 : start] == " ":
            start -= 1
        texts = list(self.texts)
        texts[which] = text[:start] + text[end:]
        spans = [
            (w, s, e)
            if w != which or e <= start
            else (w, start, start)
            if number == word
            else (w, s - (end - start), e - (end - start))
            for number, (w, s, e) in enumerate(self.spans)
        ]
        return Document(tuple(texts), tuple(spans))

    def changes_from(self, original: Document) -> tuple[Change, ...]:
        """What was changed, with places in the original text."""
        return tuple(
            Change(number, *original.spans[number], before, after)
            for number, (before, after) in enumerate(zip(original.words, self.words, strict=True))
            if before != after
        )


def in_case_of(model: str, word: str) -> str:
    """``word`` in the case of ``model``: UPPER, Title, or as it is."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    if model[:1].isupper():
        return word[:1].upper() + word[1:]
    return word
