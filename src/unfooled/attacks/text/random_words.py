"""The baseline of the word-substitution attacks: random words, random synonyms, no search.

TextFooler's candidates and constraints, but words in random order, each replaced by one random candidate that
is kept whatever it does. What a search is worth is its success beyond this. Vectors and threshold are those
of our ``textfooler``: GloVe fitted to WordNet, least similarity 0.80 with minilm for 0.84.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.candidates import Neighbours, content_words
from unfooled.attacks.parts.constraints import KeepsMeaning
from unfooled.attacks.parts.greedy import substituted
from unfooled.words.document import Document


@dataclass(frozen=True)
class RandomWords(Neighbours, KeepsMeaning):
    """Random substitution by synonyms."""

    name: ClassVar[str] = "random"
    does: ClassVar[str] = "replaces words at random by near-synonyms"
    paper: ClassVar[str] = "Baseline: TextFooler's candidates in random order"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("tags", "similarity")

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        table = self.neighbours(attempt, words)
        constraints = self.constraints()
        attempt.rng.shuffle(words)
        current, left = attempt.original, attempt.max_changes
        for number in words:
            documents = substituted(current, number, table[number])
            attempt.rng.shuffle(documents)
            for document in documents:
                if (yield from constraints.allowed(attempt, current, number, [document])):
                    break
            else:
                continue
            (trial,) = yield from attempt.ask([document])
            if trial.reached:
                return trial.document
            current, left = trial.document, left - 1
            if left == 0:
                break
        return None
