"""When an attack has succeeded, and how close it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from unfooled.attacks.victim import Answer
from unfooled.records.metric import ACCURACY, Metric

GoalName = Literal["fickle", "obstinate"]


class Goal(Protocol):
    """``reached``: the attack is done; ``score`` rises towards it."""

    def reached(self, answer: Answer) -> bool: ...

    def score(self, answer: Answer) -> float: ...


@dataclass(frozen=True)
class Fickle:
    """The meaning stays, the label must change to a wrong one. An abstention is not a wrong label."""

    truth: int
    metric: Metric = ACCURACY

    def reached(self, answer: Answer) -> bool:
        return not answer.abstained and not self.metric.right(answer.label, self.truth)

    def score(self, answer: Answer) -> float:
        return 1.0 - answer.scores[self.truth]


@dataclass(frozen=True)
class Obstinate:
    """The meaning changes, the label must stay (Chen et al. 2022: the model overlooks the change)."""

    original: int

    def reached(self, answer: Answer) -> bool:
        return not answer.abstained and answer.label == self.original

    def score(self, answer: Answer) -> float:
        return answer.scores[self.original]


def make_goal(name: GoalName, *, truth: int, original: int, metric: Metric = ACCURACY) -> Goal:
    return Fickle(truth, metric) if name == "fickle" else Obstinate(original)
