"""SAFER's training: every word is redrawn from its substitution set (Ye, Gong, Liu; ACL 2020).

At every step each word of each text is redrawn, uniformly and on its own, from the same set that the vote
``safer`` redraws it from: itself and its substitutes, or the whole component of synonyms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from unfooled.defences.base import remade
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.models import Batch, Model, as_text
from unfooled.predictors import SynonymVote
from unfooled.predictors.smoothing import SubstitutionSets, resampled
from unfooled.settings import MOST_VOTES, setting


@dataclass(frozen=True)
class Safer(SubstitutionSets):
    """Trained and deployed on texts whose words were redrawn."""

    name: ClassVar[str] = "safer"
    summary: ClassVar[str] = "Every word redrawn from its synonyms; certifiable vote (SAFER, Ye et al. 2020)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("synonyms",)
    deployed_as: ClassVar[str] = "safer"

    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> Safer:
        as_text(model)  # other models are refused
        self.substitutes()  # made or read now, so that a bad table is refused early
        return self

    def begin(self, training: Training) -> SaferSession:
        return SaferSession(training, self)

    def redrawn(self, model: Model, batch: Batch) -> Batch:
        """The batch with every word of every text redrawn."""
        table = self.substitutes()
        stream = np.random.default_rng(int(torch.randint(2**62, ())))
        texts = [
            [resampled(text, table, lambda n: int(stream.integers(n))) for text in item.texts]
            for item in batch.encoded
        ]
        pairs = [own[1] for own in texts] if len(texts[0]) == 2 else None
        return remade(model, batch, as_text(model).encode([own[0] for own in texts], pairs))

    def predictor(self, model: Model) -> SynonymVote:
        return SynonymVote(**vars(self))


class SaferSession(Session[Safer]):
    """Cross-entropy on texts whose words were redrawn."""

    def loss(self, batch: Batch, step: Step) -> Losses:
        redrawn = self.defence.redrawn(self.model, batch)
        return Losses(self.task_loss(self.model.forward(redrawn).logits, batch))
