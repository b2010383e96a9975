"""The adaptive attack: white box, averaged over the victim's own randomness, on the predictor it deploys.

In each round the gradient of the true class's mean probability over noise draws, masks, or the changed texts
that a vote is over (expectation over transformation: Athalye et al. 2018; Chen et al. 2020 §6.2) ranks every
substitution of every word by its first-order gain. The most promising are measured by their mean probability
over fresh draws and the best is kept; the deployed predictor is asked once the mean itself has turned, so
that a success is no lucky draw.
A word that the victim hides gets no gradient: the attack moves to words that stay visible. Candidates and
constraints are those of our ``textfooler`` (GloVe fitted to WordNet, least similarity 0.80 with minilm for
0.84), so that both attacks face the same allowed texts. Under ``safer`` a substitution is worth the mean
embedding of the new word's set against that of the old one's: to first order, as if the gradient were the
same for every word that may be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.candidates import Neighbours, content_words
from unfooled.attacks.parts.constraints import KeepsMeaning
from unfooled.settings import MOST_VOTES, setting
from unfooled.words.document import Document

Replacement = tuple[int, str]
"""A word number and what is to stand there."""


@dataclass(frozen=True)
class Measured:
    """A substitution and what the victim makes of it on average."""

    number: int
    document: Document
    score: float
    reached: bool


@dataclass(frozen=True)
class Adaptive(Neighbours, KeepsMeaning):
    """Gradient-guided substitution against the expectation of a randomised victim."""

    name: ClassVar[str] = "adaptive"
    does: ClassVar[str] = "knows the model and its defence and replaces words by near-synonyms"
    paper: ClassVar[str] = "Expectation over transformation (Athalye et al. 2018) on word substitutions"
    goal: ClassVar[GoalName] = "fickle"
    version: ClassVar[int] = 2  # 1 did not average over the texts that a vote is over
    needs: ClassVar[tuple[str, ...]] = ("gradients", "expected", "embedding", "tags", "similarity")

    draws: int = setting(
        8, "Draws of noise, masks or texts per gradient or mean", at_least=1, at_most=MOST_VOTES
    )
    tried: int = setting(16, "Substitutions measured at a time", at_least=1, at_most=MOST_VOTES)
    patience: int = setting(2, "Further lots of substitutions when none of the first helps", at_least=0)

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        table = self.neighbours(attempt, content_words(attempt))
        vectors = yield from _word_vectors(attempt, table)
        (start,) = yield from attempt.expected([attempt.original], draws=self.draws)
        current, score, changed = attempt.original, attempt.goal.score(start), set[int]()
        while len(changed) < attempt.max_changes:
            gradients = yield from attempt.gradients(current, attempt.example.label, draws=self.draws)
            gains: dict[Replacement, float] = {}
            for number in table.keys() - changed:
                slope = gradients.of_span(*current.span(number))
                here = vectors[current.words[number].casefold()]
                for word in table[number]:
                    gains[number, word] = float(slope @ (vectors[word] - here))
            promising = sorted(gains, key=lambda pair: (-gains[pair], pair))
            step = yield from self._step(attempt, current, score, promising)
            if isinstance(step, Document):
                return step
            if step is None:
                break
            current, score = step.document, step.score
            changed.add(step.number)
        trials = yield from attempt.ask([current] if changed else [])
        return next((trial.document for trial in trials if trial.reached), None)

    def _step(
        self, attempt: Attempt, current: Document, score: float, promising: Sequence[Replacement]
    ) -> Steps[Document | Measured | None]:
        """The document that made the victim fail; else the substitution that helps most; else None."""
        for first in range(0, (1 + self.patience) * self.tried, self.tried):
            measured = yield from self._measure(attempt, current, promising[first : first + self.tried])
            measured.sort(key=lambda one: -one.score)
            turned = [one.document for one in measured if one.reached]
            trials = yield from attempt.ask(turned[:3])
            for trial in trials:
                if trial.reached:
                    return trial.document
            if measured and measured[0].score > score:
                return measured[0]
        return None

    def _measure(
        self, attempt: Attempt, current: Document, pairs: Sequence[Replacement]
    ) -> Steps[list[Measured]]:
        """The mean probabilities of the substitutions that the constraints allow."""
        constraints = self.constraints()
        allowed: list[tuple[int, Document]] = []
        for number in dict.fromkeys(number for number, _ in pairs):
            documents = [current.replace(number, word) for n, word in pairs if n == number]
            found = yield from constraints.allowed(attempt, current, number, documents)
            allowed += [(number, one.document) for one in found]
        if not allowed:
            return []
        answers = yield from attempt.expected([document for _, document in allowed], draws=self.draws)
        return [
            Measured(number, document, attempt.goal.score(answer), attempt.goal.reached(answer))
            for (number, document), answer in zip(allowed, answers, strict=False)
        ]


def _word_vectors(attempt: Attempt, table: Mapping[int, Sequence[str]]) -> Steps[dict[str, np.ndarray]]:
    """The victim's own embedding of every word that stands or may stand in the text."""
    own = [attempt.original.words[number].casefold() for number in table]
    words = list(dict.fromkeys([*own, *(word for words in table.values() for word in words)]))
    vectors = yield from attempt.embeddings(words)
    return dict(zip(words, vectors, strict=True))
