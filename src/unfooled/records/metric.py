"""How good answers are: a metric scores each answer against the truth; its mean carries an interval.

A task names its metric, and training, repeated evaluation, attacks and certificates ask it whether an answer
is right. For classification an answer is right or wrong (``accuracy``); other tasks may have other answers
and truths, such as spans of text, and scores in between. Other packages add metrics by the entry point
``unfooled.metrics``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from unfooled.files import TRAIN_AGAIN, in_shape
from unfooled.records.summaries import squad_score
from unfooled.registry import Registry

Truth = Hashable
"""What a right answer is: a class for classification, the texts of all right answers for a question."""


@dataclass(frozen=True)
class Metric:
    """``score(answer, truth)`` lies between 0 and 1; 1 is right."""

    name: str
    score: Callable[[Truth, Truth], float]

    def right(self, answer: Truth, truth: Truth) -> bool:
        return self.score(answer, truth) >= 1.0


def exact(answer: Truth, truth: Truth) -> float:
    """1 if the answer is the truth, else 0."""
    return float(answer == truth)


ACCURACY = Metric("accuracy", exact)
F1 = Metric("f1", squad_score.f1)
EXACT_MATCH = Metric("exact_match", squad_score.exact_match)
METRICS: Registry[Metric] = Registry("metric", (ACCURACY, F1, EXACT_MATCH), needs=("score",))


@dataclass(frozen=True)
class CleanScore:
    """The task's metric on a split without attack: its mean and the 95 % interval."""

    metric: str
    value: float
    low: float
    high: float


def clean_score(split: Mapping[str, object], where: str = "metrics.json") -> CleanScore:
    """The score among the measurements of a split, as ``metrics.json`` has them."""
    metric = str(split.get("metric", ACCURACY.name))
    value = in_shape(split.get(metric), float, f"{where}: {metric}", remedy=TRAIN_AGAIN)
    between = f"{metric}_interval"
    low, high = in_shape(split.get(between), tuple[float, float], f"{where}: {between}", remedy=TRAIN_AGAIN)
    return CleanScore(metric, value, low, high)
