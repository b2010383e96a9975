"""Random word masking in training (RanMASK; Zeng, Zheng, Xu, Li, Yuan, Huang; 2021).

At every step each text shows as many of its words as the predictor will show, drawn anew; every other word
is one mask token. The inputs are put together by the predictor's own code, so that what is trained on is what
is deployed: the vote ``random-mask``.

Deviations. Several versions of a text per step (``draws``), and the consistency of their answers as a part
of the loss (:mod:`.versions`), are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from unfooled.defences.parts.versions import Versions
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.models import Batch, Encoded, Model, as_text
from unfooled.predictors import RandomWordMask
from unfooled.predictors.smoothing import WordAssembler
from unfooled.predictors.smoothing.word_masking import HIDDEN_HELP, Hidden
from unfooled.settings import MOST_VOTES, setting


@dataclass(frozen=True)
class RandomMask(Versions):
    """Trained and deployed on few words of each text."""

    name: ClassVar[str] = "random-mask"
    summary: ClassVar[str] = "Trained on few random words of each text; certifiable vote (Zeng et al. 2021)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("words",)
    refuses: ClassVar[dict[str, str]] = {
        "question": "its certified vote is about labels, and spans have no certificate yet"
    }
    deployed_as: ClassVar[str] = "random-mask"

    kept: float = setting(
        0.3, "Words shown: a share of them (below 1) or their number (1 or more)", at_least=0
    )
    hidden: Hidden = setting("mask-token", HIDDEN_HELP)
    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> RandomMask:
        self.predictor(as_text(model)).check(model)
        self.check_versions()
        return self

    def begin(self, training: Training) -> RandomMaskSession:
        return RandomMaskSession(training, self)

    def versions(self, model: Model, batch: Batch) -> list[Encoded]:
        """Every version of the texts, one version after another, with all but a few words hidden."""
        assembler = WordAssembler(as_text(model))
        predictor = self.predictor(model)
        shown = []
        for words in assembler.read([item.texts for item in batch.encoded]) * self.draws:
            order = torch.randperm(len(words)).tolist()
            kept = set(order[: predictor.kept_words(len(words))])
            shown.append(assembler.shown(words, kept, dropped=self.hidden == "dropped"))
        return shown

    def predictor(self, model: Model) -> RandomWordMask:
        return RandomWordMask(kept=self.kept, hidden=self.hidden, votes=self.votes)


class RandomMaskSession(Session[RandomMask]):
    """Cross-entropy on texts with few words shown, and the consistency of the answers to them."""

    def loss(self, batch: Batch, step: Step) -> Losses:
        versions = self.defence.versions(self.model, batch)
        return self.defence.losses(self.defence.answers(self.model, versions), batch.labels)
