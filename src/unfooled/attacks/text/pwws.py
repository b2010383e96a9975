"""PWWS: WordNet synonyms in the order of probability-weighted word saliency (Ren et al. 2019).

Words are ordered by ΔP × softmax(saliency): ΔP is the score of the word's best synonym, saliency that of the
unknown token in its place. No semantic constraint. As in TextAttack, ΔP is the score itself and not its gain,
each word's synonyms are tried again in the text as changed so far, and a word without gain is left. Named
entities are not swapped: the paper's dictionaries are not public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.candidates import candidate_table, content_words, from_table
from unfooled.attacks.parts.greedy import greedy, substituted
from unfooled.attacks.parts.ranking import UNKNOWN, ordered, with_unknown
from unfooled.lexicon.wordnet import raw_synonyms
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class Pwws:
    """Probability-weighted word saliency."""

    name: ClassVar[str] = "pwws"
    does: ClassVar[str] = "replaces words by synonyms from WordNet"
    paper: ClassVar[str] = (
        "Ren et al. 2019, ACL: Generating Natural Language Adversarial Examples through PWWS"
    )
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ()

    unknown: str = setting(UNKNOWN, "What a word becomes when its saliency is measured")

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        words = content_words(attempt)
        synonyms = candidate_table(attempt, words, raw_synonyms)

        unknown = yield from with_unknown(attempt, words, self.unknown)
        saliency = np.exp([trial.score for trial in unknown])
        weights = dict(zip(words, saliency / saliency.sum(), strict=False))

        tried: list[int] = []

        def documents() -> Iterator[Document]:
            for number in words:
                for document in substituted(attempt.original, number, synonyms[number]):
                    tried.append(number)
                    yield document

        trials = yield from attempt.ask(documents())
        best: dict[int, float] = {}
        for number, trial in zip(tried, trials, strict=False):
            best[number] = max(best.get(number, 0.0), trial.score)

        order = ordered({number: best[number] * weights[number] for number in best})
        return (yield from greedy(attempt, order, from_table(synonyms)))
