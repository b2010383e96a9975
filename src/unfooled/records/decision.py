"""What a predictor returns for one input: the label and how it came about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """One input decided from one or more forward passes."""

    label: int
    """Index of the leading class (also when the predictor abstains)."""
    scores: tuple[float, ...]
    """One number per class, summing to one: probabilities or vote shares."""
    votes: tuple[tuple[int, ...], ...] = ()
    """Votes per class in each stage that was run; empty for a predictor that does not vote."""
    masked: tuple[int, ...] = ()
    """Token positions masked in the first stage."""
    forwards: int = 1
    """Forward passes spent on this input, the saliency pass included."""
    abstained: bool = False
    decided: bool | None = None
    """Whether the votes name the most probable class at the error rate asked for; None if none was."""

    @property
    def stage(self) -> int:
        """The stage that decided, counted from 1; 0 for a predictor that does not vote."""
        return len(self.votes)
