"""SAFER's training: every word is redrawn from its substitution set (Ye, Gong, Liu; ACL 2020).

In every epoch each word of each text is redrawn, uniformly and on its own, from the same set that the vote
``safer`` redraws it from: itself and its substitutes, or the whole component of synonyms. The data loader
redraws (:meth:`Session.copies`), by (seed, epoch, number of the example), so that the lengths of the redrawn
texts are known beforehand: batches are put together by them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unfooled.defences.base import remade
from unfooled.defences.session import (
    Losses,
    Session,
    Step,
    Training,
    TrainingData,
    TrainingExample,
)
from unfooled.models import Batch, Encoded, Model, as_text, as_texts, mix
from unfooled.models.encoding import encode_inputs
from unfooled.predictors import SynonymVote
from unfooled.predictors.smoothing import SubstitutionSets, resampled
from unfooled.settings import MOST_VOTES, setting

AT_ONCE = 1000
"""Texts that are redrawn together to learn their lengths."""


@dataclass(frozen=True)
class Safer(SubstitutionSets):
    """Trained and deployed on texts whose words were redrawn."""

    name: ClassVar[str] = "safer"
    summary: ClassVar[str] = "Every word redrawn from its synonyms; certifiable vote (SAFER, Ye et al. 2020)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("synonyms",)
    refuses: ClassVar[dict[str, str]] = {
        "question": "its vote redraws words of the text, and the places of answers are not kept yet"
    }
    deployed_as: ClassVar[str] = "safer"

    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> Safer:
        as_text(model)  # other models are refused
        self.substitutes()  # made or read now, so that a bad table is refused early
        return self

    def begin(self, training: Training) -> SaferSession:
        return SaferSession(training, self)

    def predictor(self, model: Model) -> SynonymVote:
        return SynonymVote(**vars(self))


@dataclass(frozen=True)
class Redraw:
    """Redraws the words of the examples of one epoch."""

    key: tuple[int, int]
    """The seed and the epoch."""
    sets: SubstitutionSets
    tokenizer: Any
    max_length: int

    def __call__(self, examples: Sequence[TrainingExample]) -> list[Encoded]:
        table, texts = self.sets.substitutes(), []
        for example, item in zip(examples, as_texts([one.encoded for one in examples]), strict=True):
            choose = random.Random(mix(*self.key, example.number)).randrange
            texts.append(tuple(resampled(text, table, choose) for text in item.texts))
        return encode_inputs(self.tokenizer, texts, max_length=self.max_length)


class SaferSession(Session[Safer]):
    """Cross-entropy on texts whose words were redrawn."""

    def copies(self, epoch: int, data: TrainingData) -> Redraw:
        model = as_text(self.model)
        return Redraw((self.training.seed, epoch), self.defence, model.tokenizer, model.max_length)

    def lengths(self, epoch: int, data: TrainingData) -> list[int]:
        redraw = self.copies(epoch, data)
        rows = zip(data.encoded, data.labels, strict=True)
        examples = [TrainingExample(number, *row) for number, row in enumerate(rows)]
        parts = (examples[at : at + AT_ONCE] for at in range(0, len(examples), AT_ONCE))
        return [len(item) for part in parts for item in redraw(part)]

    def loss(self, batch: Batch, step: Step) -> Losses:
        redrawn = remade(self.model, batch, self.copied(step))
        return Losses(self.task_loss(self.model.forward(redrawn).logits, batch))
