"""Plain fine-tuning: cross-entropy on the texts as they are. The baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional as F

from unfooled.defences.base import Step
from unfooled.models import Batch, TextModel
from unfooled.predictors import Plain, Predictor


@dataclass(frozen=True)
class Standard:
    """Cross-entropy, one forward pass at prediction."""

    name: ClassVar[str] = "standard"
    summary: ClassVar[str] = "Plain fine-tuning, the baseline"
    learning_rate: ClassVar[float] = 1e-4

    def resolved(self, model: TextModel) -> Standard:
        return self

    def loss(self, model: TextModel, batch: Batch, step: Step) -> Tensor:
        assert batch.labels is not None
        return F.cross_entropy(model.forward(batch, call=step.call).logits, batch.labels)

    def predictor(self, model: TextModel) -> Predictor:
        return Plain()
