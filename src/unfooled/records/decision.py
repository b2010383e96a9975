"""What a predictor returns for one input: the label and how it came about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """One input decided from one or more forward passes."""

    label: int
    """Index of the leading answer: a class, or one of ``answers`` (also when the predictor abstains)."""
    scores: tuple[float, ...]
    """One number per answer, summing to one: probabilities or vote shares."""
    votes: tuple[tuple[int, ...], ...] = ()
    """Votes per answer in each stage that was run; empty for a predictor that does not vote."""
    masked: tuple[int, ...] = ()
    """Token positions masked in the first stage."""
    forwards: int = 1
    """Forward passes spent on this input, the saliency pass included."""
    abstained: bool = False
    decided: bool | None = None
    """Whether the votes name the most probable class at the error rate asked for; None if none was."""
    answers: tuple[tuple[int, int], ...] | None = None
    """Of a question: the spans of the context that label, scores and votes are about, (0, 0) for no answer.
    None: they are about the classes."""
    texts: tuple[str, ...] | None = None
    """Of a question: the texts of ``answers``, where words between theirs may have been left out. None: they
    are what stands there."""

    @property
    def span(self) -> tuple[int, int] | None:
        """The leading answer of a question; None for classes."""
        return None if self.answers is None else self.answers[self.label]

    @property
    def stage(self) -> int:
        """The stage that decided, counted from 1; 0 for a predictor that does not vote."""
        return len(self.votes)
