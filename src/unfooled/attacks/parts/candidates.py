"""Which words an attack may change, and what may stand in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from unfooled.attacks.attempt import Attempt, NothingToChange, Steps
from unfooled.lexicon.stopwords import is_stop_word
from unfooled.lexicon.vectors import load_vectors
from unfooled.words.document import Document

Candidates = Callable[[Document, int], Steps[Sequence[str]]]
"""Called with the text so far and a word number; gives the words that may stand there."""

Table = dict[int, Sequence[str]]
"""Candidates by word number, where they do not depend on the text around the word."""


def content_words(attempt: Attempt) -> list[int]:
    """The words that may change and are no stop words; there is nothing to attack without any."""
    words = attempt.original.words
    found = [number for number in attempt.changeable if not is_stop_word(words[number])]
    if not found:
        raise NothingToChange("there are only stop words")
    return found


def candidate_table(
    attempt: Attempt, numbers: Iterable[int], look_up: Callable[[str], Sequence[str]]
) -> Table:
    """The candidates of each word; there is nothing to attack if no word has any."""
    table = {number: look_up(attempt.original.words[number]) for number in numbers}
    if not any(table.values()):
        raise NothingToChange("no word has a candidate")
    return table


def nearest(
    vectors: str | None, count: int, min_cosine: float, *, ppdb: str | None = None
) -> Callable[[str], Sequence[str]]:
    """Looks up the ``count`` nearest words by cosine in a set of word vectors, by default the counter-fitted.

    With ``ppdb``, a file of paraphrases, these are fitted to them too.
    """
    name = vectors or "counter-fitted"
    loaded = load_vectors(name) if ppdb is None else load_vectors(name, ppdb=Path(ppdb))

    def look_up(word: str) -> Sequence[str]:
        return [neighbour for neighbour, _ in loaded.neighbours(word, count, min_cosine)]

    return look_up


def from_table(table: Mapping[int, Sequence[str]]) -> Candidates:
    """The same candidates whatever stands around the word."""

    def candidates(document: Document, number: int) -> Steps[Sequence[str]]:
        yield from ()
        return table.get(number, ())

    return candidates
