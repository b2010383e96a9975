"""What an attack did to the answer of one question: the answers before and after, and what they are worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GivenAnswer:
    """An answer of the victim, scored against the right ones."""

    text: str
    """Empty: no answer."""
    span: tuple[int, int] | None
    """Its place in the context that was asked about."""
    f1: float
    exact_match: float
    abstained: bool = False
    """The leader of a vote that was too close: no answer was given, and both scores are 0."""


@dataclass(frozen=True)
class QuestionChange:
    """The part of an outcome that only questions have; ``original`` is (question, context)."""

    id: str
    paragraph: str
    """Equal where two questions are about one paragraph."""
    truth: tuple[str, ...]
    right: tuple[tuple[int, int], ...]
    """Where the right answers stand in the untouched context."""
    before: GivenAnswer | None = None
    after: GivenAnswer | None = None
    """To the result of the attack; of a failed one that adds sentences, to the worst copy."""
    copies: int = 0
    """Copies with an added sentence that were tried."""
    added: tuple[int, int] | None = None
    """The added sentence in the context of a success."""
    fresh_f1: float | None = None
    """Mean of the fresh answers of a randomised victim to a success; None if there are none."""
    fresh_exact_match: float | None = None
