"""What a predictor is: from forward passes to a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from unfooled.files import JsonObject
from unfooled.models import EncodedInput, Model
from unfooled.records.decision import Decision

Seed = int | Sequence[int]
"""One seed for all inputs, or one per input."""


class Predictor(Protocol):
    """Makes decisions from forward passes; the same seed and input give the same decision."""

    @property
    def randomised(self) -> bool:
        """Whether answers may differ from seed to seed."""
        ...

    def check(self, model: Model) -> None:
        """Refuse settings that this model cannot serve, naming the setting."""
        ...

    def decide(self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed = 0) -> list[Decision]: ...

    def describe(self) -> JsonObject:
        """Name and settings, as saved with the classifier."""
        ...
