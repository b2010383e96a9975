"""Plain fine-tuning: cross-entropy on the inputs as they are. The baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.defences.session import Session, Training
from unfooled.models import Model
from unfooled.predictors import Plain, Predictor


@dataclass(frozen=True)
class Standard:
    """Cross-entropy, one forward pass at prediction."""

    name: ClassVar[str] = "standard"
    summary: ClassVar[str] = "Plain fine-tuning, the baseline"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    deployed_as: ClassVar[str] = "plain"

    def resolved(self, model: Model) -> Standard:
        return self

    def begin(self, training: Training) -> Session[Standard]:
        return Session(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()
