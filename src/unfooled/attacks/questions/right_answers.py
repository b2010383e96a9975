"""When the answer to a question is right, and how sure the victim is of a right one.

A victim of words gives class probabilities. A question has no classes, so each query says what the right
answers are, and the victim's answer is read as two classes: 0, right, and 1, wrong. Every recipe that asks
for answers alone works on questions so.

The probability of «right» is the mean worth of the answers that the predictor compares: Σ p(span) · F1(span),
or with exact match for F1. p is the softmax of start + end logit over the spans that are compared (the 20
best of each window, and no answer where the model may give none); of a vote, the share of the votes, so the
sum is the mean worth of a vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from unfooled.attacks.limits import Limits, SuccessName
from unfooled.attacks.victim import Answer
from unfooled.records.decision import Decision
from unfooled.records.question_change import GivenAnswer
from unfooled.records.summaries.squad_score import exact_match, f1

CLASSES = ("right", "wrong")
RIGHT, WRONG = 0, 1
DECIMALS = 6


@dataclass(frozen=True)
class AnswerRule:
    """Which answers are right: exact matches, or those with enough F1."""

    success: SuccessName = "exact-match"
    f1_below: float = 0.5

    @classmethod
    def of(cls, limits: Limits) -> AnswerRule:
        return cls(limits.success, limits.f1_below)

    def worth(self, answer: str, truth: tuple[str, ...]) -> float:
        """What guides the search: exact match, or F1."""
        return _scores(answer, truth)[0 if self.success == "f1" else 1]

    def right(self, answer: str, truth: tuple[str, ...]) -> bool:
        least = self.f1_below if self.success == "f1" else 1.0
        return self.worth(answer, truth) >= least


class QuestionQuery(NamedTuple):
    """What the victim is asked, and by what its answer is judged."""

    question: str
    context: str
    truth: tuple[str, ...]
    rule: AnswerRule


def judged(query: QuestionQuery, decision: Decision, answers: Sequence[str]) -> Answer:
    """The decision as an answer of two classes; ``answers`` are the texts that it is about.

    An abstention gives no answer: it has no F1, and whoever counts it as neither right nor wrong may.
    """
    truth, rule, leader = query.truth, query.rule, answers[decision.label]
    pairs = zip(decision.scores, answers, strict=True)
    right = round(sum(share * rule.worth(text, truth) for share, text in pairs), DECIMALS)
    score, match = (0.0, 0.0) if decision.abstained else _scores(leader, truth)
    return Answer(
        scores=(right, round(1 - right, DECIMALS)),
        label=RIGHT if rule.right(leader, truth) else WRONG,
        forwards=decision.forwards,
        abstained=decision.abstained,
        given=GivenAnswer(leader, decision.span if leader else None, score, match, decision.abstained),
    )


@lru_cache(maxsize=65_536)
def _scores(answer: str, truth: tuple[str, ...]) -> tuple[float, float]:
    """F1 and exact match."""
    return f1(answer, truth), exact_match(answer, truth)
