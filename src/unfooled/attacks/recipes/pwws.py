"""PWWS: WordNet synonyms in the order of weighted word saliency (Ren et al. 2019).

Each word's best synonym lowers the true class's probability by ΔP; words are changed in the order of
ΔP × softmax(saliency), where saliency is the drop when the word becomes the unknown token. No semantic
constraint. Deviations: named entities are not swapped (their dictionaries are not public), as in TextAttack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unfooled.attacks.attempt import Attempt, NothingToChange, Steps
from unfooled.attacks.document import Document
from unfooled.attacks.goals import GoalName
from unfooled.lexicon.stopwords import is_stop_word
from unfooled.lexicon.wordnet import raw_synonyms
from unfooled.settings import setting


@dataclass(frozen=True)
class Pwws:
    """Probability weighted word saliency."""

    name: ClassVar[str] = "pwws"
    paper: ClassVar[str] = (
        "Ren et al. 2019, ACL: Generating Natural Language Adversarial Examples through PWWS"
    )
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ()

    unknown: str = setting("[UNK]", "What a word becomes when its saliency is measured")

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        original = attempt.original
        words = [number for number in attempt.changeable if not is_stop_word(original.words[number])]
        synonyms = {number: raw_synonyms(original.words[number]) for number in words}
        if not any(synonyms.values()):
            raise NothingToChange
        start = attempt.goal.score(attempt.first)

        unknown = yield from attempt.ask([original.replace(n, self.unknown, keep_case=False) for n in words])
        saliency = np.array([trial.score - start for trial in unknown])
        weight = np.exp(saliency - saliency.max())
        weights = dict(zip(words, weight / weight.sum(), strict=False))

        pairs = [(number, synonym) for number in words for synonym in synonyms[number]]
        trials = yield from attempt.ask([original.replace(number, synonym) for number, synonym in pairs])
        best: dict[int, tuple[float, str]] = {}
        for (number, synonym), trial in zip(pairs, trials, strict=False):
            if number not in best or trial.score > best[number][0]:
                best[number] = (trial.score, synonym)
        order = sorted(best, key=lambda number: -(best[number][0] - start) * weights[number])

        document = original
        for number in order[: attempt.max_changes]:
            document = document.replace(number, best[number][1])
            (trial,) = yield from attempt.ask([document])
            if trial.reached:
                return trial.document
        return None
