"""What any attack may do: the options that all recipes have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from unfooled.errors import UsageError
from unfooled.settings import MOST_VOTES, setting

SuccessName = Literal["exact-match", "f1"]
OF_QUESTIONS = ("success", "f1_below")
"""Limits that only attacks on questions know."""


@dataclass(frozen=True)
class Limits:
    """Budget and bounds of one attack on one example."""

    query_budget: int = setting(5000, "Queries per example, at most", at_least=1)
    max_changed: float = setting(1.0, "Largest share of words changed", at_least=0, at_most=1)
    protect: tuple[str, ...] = setting((), "Words and phrases that must not change, in any case")
    protect_pattern: str | None = setting(
        None, "Regular expression; words inside its matches must not change"
    )
    sentence: Literal["either", "first", "second"] = setting("either", "Which text of a pair is attacked")
    time_cap: float = setting(600.0, "Seconds of work per example, at most", at_least=0)
    fresh_predictions: int = setting(
        20,
        "Fresh predictions that re-verify a success against a randomised victim",
        at_least=1,
        at_most=MOST_VOTES,
    )
    success: SuccessName = setting(
        "exact-match", "Of a question: exact-match (success is to lose it), or f1 (to fall below --f1-below)"
    )
    f1_below: float = setting(0.5, "Of a question: an answer with less F1 is wrong", at_least=0, at_most=1)
    cache_answers: bool = setting(False, "Reuse answers of a randomised victim to the same text")

    def __post_init__(self) -> None:
        try:
            re.compile(self.protect_pattern or "")
        except re.error as error:
            raise UsageError(
                f"protect_pattern {self.protect_pattern!r} is not a regular expression: {error}. "
                "Put a backslash before characters that stand for themselves."
            ) from error
        if self.success != "f1" and self.f1_below != 0.5:
            raise UsageError(f"--f1-below {self.f1_below:g} is for --success f1: give that too.")
