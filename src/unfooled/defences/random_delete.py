"""Random deletion in training (RS-Del, Huang et al. 2023; CERT-ED, Huang et al. 2024).

At every step each word of a text is deleted with the rate of the predictor, anew; what is left is the input,
put together by the predictor's own code. A step costs as many tokens as words were kept, so that ``draws``
versions of each text per step are cheap. Deployed with the vote ``random-delete``.

Deviations. The papers train on one version per step; here several, and the consistency of their answers may
be part of the loss (:mod:`.versions`). The rate may rise over the first part of training (``warmup``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from unfooled.defences.parts.scale import risen
from unfooled.defences.parts.versions import MOST_VERSIONS, Versions
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.models import Batch, Model, as_text
from unfooled.predictors.smoothing import RandomWordDelete, WordAssembler
from unfooled.settings import MOST_VOTES, setting


@dataclass(frozen=True)
class RandomDelete(Versions):
    """Trained and deployed on random subsequences of each text's words."""

    name: ClassVar[str] = "random-delete"
    summary: ClassVar[str] = (
        "Trained on what random deletion leaves; certifiable against edits (Huang et al.)"
    )
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("edits", "words")
    refuses: ClassVar[dict[str, str]] = {
        "question": "its certified vote is about labels, and spans have no certificate yet"
    }
    deployed_as: ClassVar[str] = "random-delete"

    rates: tuple[float, ...] = setting((0.9,), "Share of words deleted (p): one rate, or one per length bin")
    bins: tuple[int, ...] = setting((), "Largest number of words of each length bin but the last")
    draws: int = setting(2, "Versions of each text per step (m)", at_least=1, at_most=MOST_VERSIONS)
    warmup: float = setting(
        0.0, "Share of training over which the deletion rate rises from nothing", at_least=0, at_most=1
    )
    votes: int = setting(100, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> RandomDelete:
        self.predictor(as_text(model)).check(model)
        self.check_versions()
        return self

    def begin(self, training: Training) -> RandomDeleteSession:
        return RandomDeleteSession(training, self)

    def predictor(self, model: Model) -> RandomWordDelete:
        return RandomWordDelete(rates=self.rates, bins=self.bins, votes=self.votes)


class RandomDeleteSession(Session[RandomDelete]):
    """Cross-entropy on what is left of each text, and the consistency of the answers to it."""

    def __init__(self, training: Training, defence: RandomDelete) -> None:
        super().__init__(training, defence)
        self._assembler = WordAssembler(as_text(self.model))
        self._predictor = defence.predictor(self.model)

    def loss(self, batch: Batch, step: Step) -> Losses:
        settings, share = self.defence, risen(step, self.defence.warmup)
        versions = [
            self._assembler.left(words, (torch.rand(total) >= share * self._predictor.rate(total)).tolist())
            for _ in range(settings.draws)
            for words in self._assembler.read_all([item.texts for item in batch.encoded])
            for total in (sum(map(len, words)),)
        ]
        return settings.losses(settings.answers(self.model, versions), batch.labels)
