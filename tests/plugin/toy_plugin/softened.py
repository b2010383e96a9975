"""A defence: cross-entropy with smoothed labels; and the predictor that it is deployed with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional as F

from unfooled.defences import Standard, Step
from unfooled.models import Batch, TextModel
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting


@dataclass(frozen=True)
class ToyPlain(Plain):
    """One forward pass, under another name."""

    name: ClassVar[str] = "toy-plain"


@dataclass(frozen=True)
class Softened(Standard):
    """Plain fine-tuning with smoothed labels."""

    name: ClassVar[str] = "softened"
    summary: ClassVar[str] = "Smoothed labels (a toy)"

    amount: float = setting(0.1, "How much of the label is spread over all classes", at_least=0, at_most=1)

    def loss(self, model: TextModel, batch: Batch, step: Step) -> Tensor:
        assert batch.labels is not None
        logits = model.forward(batch, call=step.call).logits
        return F.cross_entropy(logits, batch.labels, label_smoothing=self.amount)

    def predictor(self, model: TextModel) -> Predictor:
        return ToyPlain()
