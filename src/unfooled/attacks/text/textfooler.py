"""TextFooler: counter-fitted neighbours, most important words first (Jin et al. 2020).

Importance is what the answer loses when the word is deleted (Eq. 2). Candidates must keep the part of speech
in context and the sense of 15 words around the place, compared with the text just before the substitution, as
the released code does. Deviations: nouns and verbs do not replace each other and the similarity is also asked
of texts shorter than the window (the released code allows the one and skips the other); the vectors are GloVe
fitted to WordNet, not the published ones, which were fitted to PPDB too; with our encoder the least
similarity is 0.80 for 0.84, the value that lets as many substitutions pass (docs/lexicon.md).
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
class TextFooler(Neighbours, KeepsMeaning):
    """Greedy substitution by synonyms that keep grammar and meaning."""

    name: ClassVar[str] = "textfooler"
    does: ClassVar[str] = "replaces words by near-synonyms"
    paper: ClassVar[str] = "Jin et al. 2020, AAAI: Is BERT Really Robust?"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("tags", "similarity")

    candidates: int = setting(50, "N: nearest neighbours of a word that are tried", at_least=1)
    min_cosine: float = setting(0.5, "δ: least cosine of a neighbour's vector", at_least=-1, at_most=1)
    window: int = setting(15, "Words around the substitution that are compared", at_least=1)

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        neighbours = self.neighbours(attempt, words)
        order = yield from by_deletion(attempt, words)
        constraints = self.constraints(self.window)
        return (yield from greedy(attempt, order, from_table(neighbours), constraints=constraints))
