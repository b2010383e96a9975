"""The synonym (fickle) attack of Balanced Adversarial Training (Chen et al. 2022, §3.1).

TextFooler's search over SAFER's substitution sets: the k nearest words with cosine at least 0.8. The released
code takes k = 100. Deviation: the vectors are the counter-fitted ones where the paper has GloVe, whose near
neighbours are often antonyms; ``vectors=glove`` is the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.candidates import Neighbours, content_words, from_table
from unfooled.attacks.parts.constraints import KeepsMeaning
from unfooled.attacks.parts.greedy import greedy
from unfooled.attacks.parts.ranking import by_deletion
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class Synonym(Neighbours, KeepsMeaning):
    """Greedy substitution from small sets of close synonyms."""

    name: ClassVar[str] = "synonym"
    does: ClassVar[str] = "replaces words by near-synonyms"
    paper: ClassVar[str] = "Chen et al. 2022, EMNLP: Balanced Adversarial Training (synonym attack)"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("tags", "similarity")

    candidates: int = setting(100, "k: nearest neighbours of a word that are tried", at_least=1)
    vectors: str | None = setting("counter-fitted", "Word vectors whose neighbours are the synonyms")
    min_cosine: float = setting(0.8, "Least cosine of a neighbour's vector", at_least=-1, at_most=1)

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        synonyms = self.neighbours(attempt, words)
        order = yield from by_deletion(attempt, words)
        constraints = self.constraints()
        return (yield from greedy(attempt, order, from_table(synonyms), constraints=constraints))
