"""What a substitution must keep: the word's part of speech in context, and the sense of the text around it.

Part of speech is asked first: it is the cheaper question and leaves fewer candidates for the second. All
candidates of a word are asked about in one request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.lexicon.similarity import THRESHOLDS, windows
from unfooled.lexicon.tagger import pos_of_span, same_coarse_pos
from unfooled.settings import setting
from unfooled.words.document import Document

R = TypeVar("R")

WINDOW = 15
"""Words around a substitution that are compared, TextFooler's number."""
_NEIGHBOURS = 7
"""Words to each side that are tagged along with a word; the tagger looks at four."""


@dataclass(frozen=True)
class Allowed:
    """A substitution that may be tried, and its similarity (1 where that is not asked)."""

    document: Document
    similarity: float = 1.0


@dataclass(frozen=True)
class Constraints:
    """Same coarse part of speech, then a least similarity.

    ``window``: as many words around the place are compared with the text just before the substitution
    (TextFooler); None compares the whole text with the original.
    """

    min_similarity: float | None = None
    window: int | None = WINDOW
    same_pos: bool = True

    def allowed(
        self, attempt: Attempt, current: Document, number: int, documents: Sequence[Document]
    ) -> Steps[list[Allowed]]:
        """Those of ``documents``, which differ from ``current`` in word ``number``, that may be tried."""
        if self.same_pos and documents:
            documents = yield from with_same_pos(attempt, current, number, documents)
        if self.min_similarity is None:
            return [Allowed(document) for document in documents]
        pairs = [self._compared(attempt, current, number, document) for document in documents]
        found = yield from attempt.similarities(pairs)
        return [
            Allowed(document, similarity)
            for document, similarity in zip(documents, found, strict=True)
            if similarity >= self.min_similarity
        ]

    def _compared(
        self, attempt: Attempt, current: Document, number: int, document: Document
    ) -> tuple[str, str]:
        which, start, end = current.span(number)
        if self.window is None:
            return attempt.original.texts[which], document.texts[which]
        before, after = current.texts[which], document.texts[which]
        return windows(before, after, start, end, document.span(number)[2], size=self.window)


@dataclass(frozen=True)
class KeepsMeaning:
    """The setting of the recipes that compare the words around a substitution with what stood there."""

    threshold: ClassVar[str] = "textfooler"
    """Whose least similarity it is, where the setting is left open."""

    min_similarity: float | None = setting(
        None,
        "Least similarity of the words around; if not given 0.80 with minilm, 0.84 with use",
        at_least=-1,
        at_most=1,
    )

    def constraints(self, window: int = WINDOW) -> Constraints:
        return Constraints(least_similarity(self.min_similarity, self.threshold), window=window)


def least_similarity(given: float | None, paper: str, encoder: str = "minilm") -> float:
    """The setting of a recipe; where it is left open, the paper's threshold as it fits the encoder."""
    return THRESHOLDS[encoder][paper] if given is None else given


def fitted_to(encoder: str, recipe: R) -> R:
    """The recipe with its least similarity settled for the encoder, unless the user has set it."""
    if not isinstance(recipe, KeepsMeaning):
        return recipe
    return replace(recipe, min_similarity=least_similarity(recipe.min_similarity, recipe.threshold, encoder))


def with_same_pos(
    attempt: Attempt, current: Document, number: int, documents: Sequence[Document]
) -> Steps[list[Document]]:
    """Those in which word ``number`` has the coarse part of speech it has in ``current``."""
    places = [neighbourhood(document, number) for document in (current, *documents)]
    tagged = yield from attempt.tags([text for text, _, _ in places])
    before, *after = [
        pos_of_span(tags, start, end) for tags, (_, start, end) in zip(tagged, places, strict=True)
    ]
    return [document for document, pos in zip(documents, after, strict=True) if same_coarse_pos(before, pos)]


def neighbourhood(document: Document, number: int, neighbours: int = _NEIGHBOURS) -> tuple[str, int, int]:
    """The text from a few words before a word to a few after it, and the word's place in there.

    >>> neighbourhood(Document.of("a gorgeous , witty , seductive film"), 2, 1)
    ('gorgeous , witty , seductive', 11, 16)
    """
    which, start, end = document.span(number)
    near = range(max(0, number - neighbours), min(len(document), number + neighbours + 1))
    own = [span for span in map(document.span, near) if span[0] == which]
    first, last = own[0][1], own[-1][2]
    return document.texts[which][first:last], start - first, end - first
