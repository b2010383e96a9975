"""The baseline of the word-substitution attacks: random words, random synonyms, no search.

TextFooler's candidates and constraints, but words in random order, each replaced by one random candidate that
is kept whatever it does. What a search is worth is its success beyond this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.candidates import candidate_table, content_words, nearest
from unfooled.attacks.constraints import Constraints
from unfooled.attacks.document import Document
from unfooled.attacks.goals import GoalName
from unfooled.attacks.substitution import substituted
from unfooled.lexicon.similarity import THRESHOLDS
from unfooled.settings import setting


@dataclass(frozen=True)
class RandomWords:
    """Random substitution by synonyms."""

    name: ClassVar[str] = "random"
    paper: ClassVar[str] = "Baseline: TextFooler's candidates in random order"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("tags", "similarity")

    candidates: int = setting(50, "Nearest neighbours of a word to draw from", at_least=1)
    min_cosine: float = setting(0.5, "Least cosine of a neighbour's vector", at_least=-1, at_most=1)
    min_similarity: float = setting(
        THRESHOLDS["minilm"]["textfooler"], "Least similarity of the words around", at_least=-1, at_most=1
    )

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        table = candidate_table(attempt, words, nearest("counter-fitted", self.candidates, self.min_cosine))
        constraints = Constraints(self.min_similarity)
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
