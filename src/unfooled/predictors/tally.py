"""Counting ballots: votes, mean logits, and the decision they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Output = Literal["vote", "mean-logit"]


def argmax(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def count_votes(logits: Sequence[Sequence[float]], classes: int) -> tuple[int, ...]:
    counts = [0] * classes
    for row in logits:
        counts[argmax(row)] += 1
    return tuple(counts)


def scores_of(logits: Sequence[Sequence[float]], output: Output, classes: int) -> tuple[float, ...]:
    """Vote shares, or the softmax of the mean logits: one number a class, summing to one."""
    if output == "vote":
        return tuple(count / len(logits) for count in count_votes(logits, classes))
    means = [sum(row[index] for row in logits) / len(logits) for index in range(classes)]
    peak = max(means)
    exponentials = [math.exp(value - peak) for value in means]
    return tuple(value / sum(exponentials) for value in exponentials)
