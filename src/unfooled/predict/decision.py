"""What a predictor returns for one input: the label and how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from unfooled.models import Encoded, TextClassifier

Seed = int | Sequence[int]
"""One seed for all inputs, or one an input."""


@dataclass(frozen=True)
class Decision:
    """One input decided from one or more forward passes."""

    label: int
    """Index of the leading class (also when the predictor abstains)."""
    scores: tuple[float, ...]
    """One number a class, summing to one: probabilities or vote shares."""
    votes: tuple[tuple[int, ...], ...] = ()
    """Votes a class of each stage that was run; empty for a predictor that does not vote."""
    masked: tuple[int, ...] = ()
    """Token positions masked in the first stage."""
    forwards: int = 1
    """Forward passes spent on this input, the saliency pass included."""
    abstained: bool = False

    @property
    def stage(self) -> int:
        """The stage that decided, counted from 1; 0 for a predictor that does not vote."""
        return len(self.votes)


class Predictor(Protocol):
    """Makes decisions from forward passes; the same seed and input give the same decision."""

    def check(self, classifier: TextClassifier) -> None:
        """Refuse settings that this classifier cannot serve, naming the setting."""
        ...

    def decide(
        self, classifier: TextClassifier, encoded: Sequence[Encoded], *, seed: Seed = 0
    ) -> list[Decision]: ...

    def describe(self) -> dict[str, Any]:
        """Name and settings, as saved with the classifier."""
        ...
