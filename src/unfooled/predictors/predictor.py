"""What a predictor is: from forward passes to a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from unfooled.models import Encoded, TextModel
from unfooled.records.decision import Decision

Seed = int | Sequence[int]
"""One seed for all inputs, or one an input."""


class Predictor(Protocol):
    """Makes decisions from forward passes; the same seed and input give the same decision."""

    def check(self, model: TextModel) -> None:
        """Refuse settings that this model cannot serve, naming the setting."""
        ...

    def decide(self, model: TextModel, encoded: Sequence[Encoded], *, seed: Seed = 0) -> list[Decision]: ...

    def describe(self) -> dict[str, Any]:
        """Name and settings, as saved with the classifier."""
        ...
