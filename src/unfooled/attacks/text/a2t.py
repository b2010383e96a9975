"""A2T: few queries, since the gradient ranks the words (Yoo and Qi 2021), as TextAttack's recipe sets it.

One gradient orders the words; 20 close neighbours per word, the same part of speech, the whole text similar
to the original, at most a tenth of the words (but four in any case). Deviations: the vectors are GloVe fitted
to WordNet; the encoder of the similarity is ours (the paper has a DistilBERT); its least cosine of 0.9 is
0.856 as 1 − angle/π, whatever the encoder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.candidates import Neighbours, content_words, from_table
from unfooled.attacks.parts.constraints import Constraints
from unfooled.attacks.parts.greedy import greedy
from unfooled.attacks.parts.ranking import by_gradient
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class A2T(Neighbours):
    """Gradient-ranked substitution, cheap enough to train against."""

    name: ClassVar[str] = "a2t"
    does: ClassVar[str] = "replaces words by near-synonyms with few queries"
    paper: ClassVar[str] = "Yoo and Qi 2021, Findings of EMNLP: Towards Improving Adversarial Training (A2T)"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "tags", "similarity")

    candidates: int = setting(20, "k: nearest neighbours of a word that are tried", at_least=1)
    min_cosine: float = setting(0.8, "Least cosine of a neighbour's vector", at_least=-1, at_most=1)
    min_similarity: float = setting(
        0.856, "Least similarity of the whole text to the original", at_least=-1, at_most=1
    )
    max_rate: float = setting(0.1, "Largest share of words changed", at_least=0, at_most=1)
    min_words: int = setting(4, "Words that may change however short the text is", at_least=0)

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        neighbours = self.neighbours(attempt, words)
        order = yield from by_gradient(attempt, words)
        found = yield from greedy(
            attempt,
            order,
            from_table(neighbours),
            constraints=Constraints(self.min_similarity, window=None),
            max_changes=max(math.ceil(self.max_rate * len(attempt.original)), self.min_words),
        )
        return found
