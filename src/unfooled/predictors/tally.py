"""Counting ballots: votes, mean logits, and when a vote is too close to call (Cohen et al. 2019, PREDICT)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

Output = Literal["vote", "mean-logit"]


def argmax(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def count_votes(logits: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Votes per answer; each row of logits, one or more, is a vote."""
    counts = [0] * len(logits[0])
    for row in logits:
        counts[argmax(row)] += 1
    return tuple(counts)


def scores_of(logits: Sequence[Sequence[float]], output: Output) -> tuple[float, ...]:
    """Vote shares, or the softmax of the mean logits: one number per answer, summing to one."""
    if output == "vote":
        return tuple(count / len(logits) for count in count_votes(logits))
    means = [sum(row[index] for row in logits) / len(logits) for index in range(len(logits[0]))]
    peak = max(means)
    exponentials = [math.exp(value - peak) for value in means]
    return tuple(value / sum(exponentials) for value in exponentials)


@lru_cache(maxsize=65536)
def too_close(votes: tuple[int, ...], label: int, error_rate: float) -> bool:
    """True unless ``label`` leads and beats the runner-up at the stated error rate.

    Two-sided binomial test of leader against runner-up (Cohen et al. 2019, PREDICT): when it does not
    abstain, the returned class differs from the smoothed classifier's with probability at most
    ``error_rate``.
    """
    from scipy.stats import binomtest

    others = max((count for index, count in enumerate(votes) if index != label), default=0)
    if votes[label] <= others:
        return True
    return float(binomtest(votes[label], votes[label] + others, 0.5).pvalue) > error_rate


def abstains(
    votes: Sequence[int], scores: Sequence[float], *, below: float, error_rate: float | None
) -> bool:
    """Abstain when the leading score is below ``below``, or its votes are too close at ``error_rate``."""
    if max(scores) < below:
        return True
    return error_rate is not None and too_close(tuple(votes), argmax(scores), error_rate)
