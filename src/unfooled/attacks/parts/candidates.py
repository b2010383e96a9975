"""Which words an attack may change, and what may stand in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unfooled.attacks.attempt import Attempt, NothingToChange, Steps
from unfooled.lexicon.stopwords import is_stop_word
from unfooled.lexicon.vectors import load_vectors
from unfooled.settings import setting
from unfooled.words.document import Document

Candidates = Callable[[Document, int], Steps[Sequence[str]]]
"""Called with the text so far and a word number; gives the words that may stand there."""

WordLists = dict[int, Sequence[str]]
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
) -> WordLists:
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


@dataclass(frozen=True)
class Neighbours:
    """Settings of the recipes that replace a word by its neighbours in a space of word vectors."""

    candidates: int = setting(50, "Nearest neighbours of a word that are tried", at_least=1)
    min_cosine: float = setting(0.5, "Least cosine of a neighbour's vector", at_least=-1, at_most=1)
    vectors: str | None = setting(
        None, "Word vectors: counter-fitted (if not given), glove, glove-50d, or a text file"
    )
    ppdb: str | None = setting(
        None, "File of paraphrases that the counter-fitted vectors are fitted to as well"
    )

    def neighbours(self, attempt: Attempt, numbers: Iterable[int]) -> WordLists:
        """The candidates of these words."""
        near = nearest(self.vectors, self.candidates, self.min_cosine, ppdb=self.ppdb)
        return candidate_table(attempt, numbers, near)


def from_table(table: Mapping[int, Sequence[str]]) -> Candidates:
    """The same candidates whatever stands around the word."""

    def candidates(document: Document, number: int) -> Steps[Sequence[str]]:
        yield from ()
        return table.get(number, ())

    return candidates
