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
from unfooled.attacks.parts.candidates import candidate_table, content_words, from_table, nearest
from unfooled.attacks.parts.constraints import Constraints, least_similarity
from unfooled.attacks.parts.greedy import greedy
from unfooled.attacks.parts.ranking import by_deletion
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class TextFooler:
    """Greedy substitution by synonyms that keep grammar and meaning."""

    name: ClassVar[str] = "textfooler"
    paper: ClassVar[str] = "Jin et al. 2020, AAAI: Is BERT Really Robust?"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("tags", "similarity")
    threshold: ClassVar[str] = "textfooler"

    candidates: int = setting(50, "N: nearest neighbours of a word that are tried", at_least=1)
    min_cosine: float = setting(0.5, "δ: least cosine of a neighbour's vector", at_least=-1, at_most=1)
    min_similarity: float | None = setting(
        None,
        "ε: least similarity of the words around; if not given 0.80 with minilm, 0.84 with use",
        at_least=-1,
        at_most=1,
    )
    window: int = setting(15, "Words around the substitution that are compared", at_least=1)
    vectors: str | None = setting(
        None, "Word vectors: counter-fitted (if not given), glove, glove-50d, or a text file"
    )
    ppdb: str | None = setting(
        None, "File of paraphrases that the counter-fitted vectors are fitted to as well"
    )

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        near = nearest(self.vectors, self.candidates, self.min_cosine, ppdb=self.ppdb)
        neighbours = candidate_table(attempt, words, near)
        order = yield from by_deletion(attempt, words)
        least = least_similarity(self.min_similarity, self.threshold)
        constraints = Constraints(least, window=self.window)
        return (yield from greedy(attempt, order, from_table(neighbours), constraints=constraints))
