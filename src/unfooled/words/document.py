"""A text (or a pair) as words with places, and edits that leave everything else as the user wrote it.

Word numbers stay the same under edits, so the changes an attack made are read off by comparing word by word.
A copy shares the places of the words with the text it comes from and keeps only what its edits moved.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from unfooled.words.word import WORD, in_case_of

Span = tuple[int, int, int]
"""Which text (0 or 1), start, end."""


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


class Edit(NamedTuple):
    """What was done to one word, in characters."""

    word: int
    which: int
    lead: int
    """How far it moved itself."""
    length: int
    """Its length now."""
    moved: int
    """How far it moved the words after it."""


@dataclass(frozen=True)
class Document:
    """One input: its text or two texts, and where each word is.

    >>> Document.of("A gorgeous, WITTY film").replace(2, "clever").texts
    ('A gorgeous, CLEVER film',)
    """

    texts: tuple[str, ...]
    places: tuple[Span, ...]
    """Of the words before any edit."""
    edits: tuple[Edit, ...] = ()
    """One per changed word, in their order."""

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
        return len(self.places)

    def span(self, word: int) -> Span:
        """The (which text, start, end) of a word; a deleted one has no length."""
        which, start, end = self.places[word]
        shift, own = self._shift(word)
        if own is None:
            return which, start + shift, end + shift
        start = min(start + shift + own.lead, len(self.texts[which]))
        return which, start, start + own.length

    def word(self, number: int) -> str:
        which, start, end = self.span(number)
        return self.texts[which][start:end]

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The places of all words."""
        return tuple(self._spans()) if self.edits else self.places

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(self.texts[which][start:end] for which, start, end in self.spans)

    def replace(self, word: int, replacement: str, *, keep_case: bool = True) -> Document:
        """A copy with one word replaced, in the case of the word it replaces."""
        if keep_case:
            replacement = in_case_of(self.word(word), replacement)
        return self._edited(word, replacement)

    def replace_all(self, replacements: Mapping[int, str]) -> Document:
        """A copy with several words replaced at once."""
        document = self
        for number, word in replacements.items():
            document = document.replace(number, word)
        return document

    def delete(self, word: int) -> Document:
        """A copy without the word and one of the spaces around it."""
        which, start, end = self.span(word)
        text = self.texts[which]
        if text[end : end + 1] == " ":
            return self._edited(word, "", right=1)
        return self._edited(word, "", left=int(end == len(text) and text[start - 1 : start] == " "))

    def changes_from(self, original: Document) -> tuple[Change, ...]:
        """What was changed since ``original``, which this comes from, with places in its text."""
        edited = sorted({edit.word for edit in (*original.edits, *self.edits)})
        pairs = [(number, original.word(number), self.word(number)) for number in edited]
        return tuple(
            Change(number, *original.span(number), before, after)
            for number, before, after in pairs
            if before != after
        )

    def _edited(self, word: int, after: str, *, left: int = 0, right: int = 0) -> Document:
        """A copy with ``after`` for the word and so many characters to the left and right of it."""
        which, start, end = self.span(word)
        text = self.texts[which]
        changed = text[: start - left] + after + text[end + right :]
        shift, own = self._shift(word)
        lead = start - left - self.places[word][1] - shift
        moved = (own.moved if own else 0) + len(after) - (end - start) - left - right
        first = bisect_left(self.edits, (word,))
        edits = (
            *self.edits[:first],
            Edit(word, which, lead, len(after), moved),
            *self.edits[first + (own is not None) :],
        )
        return Document((*self.texts[:which], changed, *self.texts[which + 1 :]), self.places, edits)

    def _shift(self, word: int) -> tuple[int, Edit | None]:
        """How far the edits of earlier words moved a word, and its own edit."""
        which, shift = self.places[word][0], 0
        for edit in self.edits:
            if edit.word >= word:
                return shift, edit if edit.word == word else None
            if edit.which == which:
                shift += edit.moved
        return shift, None

    def _spans(self) -> Iterator[Span]:
        edits, shift = {edit.word: edit for edit in self.edits}, [0] * len(self.texts)
        for number, (which, start, end) in enumerate(self.places):
            if number in edits:
                yield self.span(number)
                shift[which] += edits[number].moved
            else:
                yield which, start + shift[which], end + shift[which]
