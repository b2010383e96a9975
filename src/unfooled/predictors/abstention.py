"""When a vote is too close to call: Cohen et al.'s test and a plain threshold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from unfooled.predictors.tally import argmax


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
