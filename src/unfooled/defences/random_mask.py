"""Random word masking in training (RanMASK; Zeng, Zheng, Xu, Li, Yuan, Huang; 2021).

At every step each text shows as many of its words as the predictor will show, drawn anew; every other word
is one mask token. The inputs are put together by the predictor's own code, so that what is trained on is what
is deployed: the vote ``random-mask``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from unfooled.defences.base import remade
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.models import Batch, Model, as_text
from unfooled.predictors import RandomWordMask
from unfooled.predictors.smoothing import WordAssembler
from unfooled.settings import setting


@dataclass(frozen=True)
class RandomMask:
    """Trained and deployed on few words of each text."""

    name: ClassVar[str] = "random-mask"
    summary: ClassVar[str] = "Trained on few random words of each text; certifiable vote (Zeng et al. 2021)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("words",)
    deployed_as: ClassVar[str] = "random-mask"

    kept: float = setting(
        0.3, "Words shown: a share of them (below 1) or their number (1 or more)", at_least=0
    )
    votes: int = setting(20, "Votes of a prediction (k)", at_least=1)

    def resolved(self, model: Model) -> RandomMask:
        self.predictor(as_text(model)).check(model)
        return self

    def begin(self, training: Training) -> RandomMaskSession:
        return RandomMaskSession(training, self)

    def masked(self, model: Model, batch: Batch) -> Batch:
        """The batch with all but a few words of each text hidden."""
        assembler = WordAssembler(as_text(model))
        predictor = self.predictor(model)
        shown = []
        for words in assembler.read([item.texts for item in batch.encoded]):
            order = torch.randperm(len(words)).tolist()
            shown.append(assembler.shown(words, set(order[: predictor.kept_words(len(words))])))
        return remade(model, batch, shown)

    def predictor(self, model: Model) -> RandomWordMask:
        return RandomWordMask(kept=self.kept, votes=self.votes)


class RandomMaskSession(Session[RandomMask]):
    """Cross-entropy on texts with few words shown."""

    def loss(self, batch: Batch, step: Step) -> Losses:
        masked = self.defence.masked(self.model, batch)
        return Losses(self.task_loss(self.model.forward(masked).logits, batch))
