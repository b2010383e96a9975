"""A defence: cross-entropy with smoothed labels; and the predictor that it is deployed with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch.nn import functional as F

from unfooled.defences import Losses, Session, Step, Training
from unfooled.models import Batch, TextModel
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting


@dataclass(frozen=True)
class ToyPlain(Plain):
    """One forward pass, under another name."""

    name: ClassVar[str] = "toy-plain"


@dataclass(frozen=True)
class Softened:
    """Plain fine-tuning with smoothed labels."""

    name: ClassVar[str] = "softened"
    summary: ClassVar[str] = "Smoothed labels (a toy)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    deployed_as: ClassVar[str] = "toy-plain"

    amount: float = setting(0.1, "How much of the label is spread over all classes", at_least=0, at_most=1)

    def resolved(self, model: TextModel) -> Softened:
        return self

    def begin(self, training: Training) -> Session[Softened]:
        return SoftenedSession(training, self)

    def predictor(self, model: TextModel) -> Predictor:
        return ToyPlain()


class SoftenedSession(Session[Softened]):
    """One training with smoothed labels."""

    def loss(self, batch: Batch, step: Step) -> Losses:
        assert batch.labels is not None
        logits = self.model.forward(batch).logits
        return Losses(F.cross_entropy(logits, batch.labels, label_smoothing=self.defence.amount))
