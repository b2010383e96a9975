"""BAE-R: words that a masked language model puts in the word's place (Garg and Ramakrishnan 2020).

TextFooler's search with other candidates: the most probable words at the masked position of the text as
changed so far. As in the authors' code, 15 words around the place are compared with the text just before the
substitution. Deviations: short texts are compared too, nouns and verbs do not replace each other, encoder and
language model are ours; with our encoder the least similarity is 0.93 for 0.936, the value that lets as many
substitutions pass (docs/lexicon.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.candidates import content_words
from unfooled.attacks.parts.constraints import KeepsMeaning
from unfooled.attacks.parts.greedy import greedy
from unfooled.attacks.parts.ranking import by_deletion
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class Bae(KeepsMeaning):
    """Greedy substitution by what a language model expects."""

    name: ClassVar[str] = "bae"
    does: ClassVar[str] = "replaces words by others that fit the sentence"
    paper: ClassVar[str] = "Garg and Ramakrishnan 2020, EMNLP: BAE: BERT-based Adversarial Examples (BAE-R)"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("tags", "similarity", "fill")
    threshold: ClassVar[str] = "bae"

    candidates: int = setting(50, "K: words of the language model that are tried", at_least=1)
    min_similarity: float | None = setting(
        None,
        "Least similarity of the words around; if not given 0.93 with minilm, 0.936 with use",
        at_least=-1,
        at_most=1,
    )
    window: int = setting(15, "Words around the substitution that are compared", at_least=1)

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        def filled(document: Document, number: int) -> Steps[Sequence[str]]:
            which, start, end = document.span(number)
            (words,) = yield from attempt.fillings(
                [(document.texts[which], start, end)], count=self.candidates
            )
            return [word for word in words if word.casefold() != document.words[number].casefold()]

        order = yield from by_deletion(attempt, content_words(attempt))
        constraints = self.constraints(self.window)
        return (yield from greedy(attempt, order, filled, constraints=constraints))
