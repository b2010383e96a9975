"""DeepWordBug: misspellings of the words that matter most (Gao et al. 2018).

Words are ordered by the answer when each becomes the unknown token (replace-1 scoring). Each in turn is
misspelt four ways, at random places: two letters swapped, one replaced, one deleted, one inserted; the best
is kept. The whole text stays within a Levenshtein distance of 30, counted edit by edit as TextAttack's recipe
does it by comparison (a swap is two). Unlike word substitution, a misspelling may move a capital.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rapidfuzz.distance import Levenshtein

from unfooled.attacks.attempt import Attempt, NothingToChange, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.candidates import content_words
from unfooled.attacks.parts.greedy import greedy
from unfooled.attacks.parts.ranking import UNKNOWN, by_unknown
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class DeepWordBug:
    """Greedy misspelling of the most important words."""

    name: ClassVar[str] = "deepwordbug"
    does: ClassVar[str] = "misspells words"
    paper: ClassVar[str] = (
        "Gao et al. 2018, SPW: Black-box Generation of Adversarial Text Sequences (DeepWordBug)"
    )
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ()

    max_distance: int = setting(30, "ε: largest Levenshtein distance to the original", at_least=0)
    unknown: str = setting(UNKNOWN, "What a word becomes when its importance is measured")

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        if not any(len(attempt.original.words[number]) > 1 for number in words):
            raise NothingToChange("every word has a single letter")

        def misspelt(document: Document, number: int) -> Steps[Sequence[str]]:
            yield from ()
            spent = distance(attempt.original, document)
            word = document.words[number]
            return [
                candidate
                for candidate in misspellings(word, attempt.rng)
                if spent + Levenshtein.distance(word, candidate) <= self.max_distance
            ]

        order = yield from by_unknown(attempt, words, self.unknown)
        return (yield from greedy(attempt, order, misspelt, keep_case=False))


def misspellings(word: str, rng: random.Random) -> list[str]:
    """Swap, substitution, deletion and insertion, each at a random place; none of a single letter."""
    if len(word) < 2:
        return []
    swap = rng.randrange(len(word) - 1)
    replaced, deleted, inserted = (rng.randrange(len(word)) for _ in range(3))
    return [
        word[:swap] + word[swap + 1] + word[swap] + word[swap + 2 :],
        word[:replaced] + rng.choice(string.ascii_letters) + word[replaced + 1 :],
        word[:deleted] + word[deleted + 1 :],
        word[:inserted] + rng.choice(string.ascii_letters) + word[inserted:],
    ]


def distance(original: Document, changed: Document) -> int:
    """Levenshtein distance word by word: at least that of the whole texts."""
    return sum(Levenshtein.distance(change.before, change.after) for change in changed.changes_from(original))
