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
from unfooled.attacks.parts.candidates import candidate_table, content_words, nearest
from unfooled.attacks.parts.constraints import Constraints, least_similarity
from unfooled.attacks.parts.greedy import substituted
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class RandomWords:
    """Random substitution by synonyms."""

    name: ClassVar[str] = "random"
    paper: ClassVar[str] = "Baseline: TextFooler's candidates in random order"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("tags", "similarity")
    threshold: ClassVar[str] = "textfooler"

    candidates: int = setting(50, "Nearest neighbours of a word to draw from", at_least=1)
    min_cosine: float = setting(0.5, "Least cosine of a neighbour's vector", at_least=-1, at_most=1)
    min_similarity: float | None = setting(
        None,
        "Least similarity of the words around; if not given 0.80 with minilm, 0.84 with use",
        at_least=-1,
        at_most=1,
    )
    vectors: str | None = setting(
        None, "Word vectors: counter-fitted (if not given), glove, glove-50d, or a text file"
    )
    ppdb: str | None = setting(
        None, "File of paraphrases that the counter-fitted vectors are fitted to as well"
    )

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        near = nearest(self.vectors, self.candidates, self.min_cosine, ppdb=self.ppdb)
        table = candidate_table(attempt, words, near)
        constraints = Constraints(least_similarity(self.min_similarity, self.threshold))
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
