"""When a vote is too close to call: Cohen et al.'s test and a plain threshold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache


@lru_cache(maxsize=65536)
def too_close(votes: tuple[int, ...], error_rate: float) -> bool:
    """True unless the leader beats the runner-up at the stated error rate.

    Two-sided binomial test of leader against runner-up (Cohen et al. 2019, PREDICT): when it does not
    abstain, the returned class differs from the smoothed classifier's with probability at most
    ``error_rate``.
    """
    from scipy.stats import binomtest

    first, second = sorted(votes, reverse=True)[:2]
    return float(binomtest(first, first + second, 0.5).pvalue) > error_rate if first else True


def abstains(
    votes: Sequence[int], scores: Sequence[float], *, below: float, error_rate: float | None
) -> bool:
    """Abstain when the leading score is below ``below``, or the vote is too close at ``error_rate``."""
    if max(scores) < below:
        return True
    return error_rate is not None and too_close(tuple(votes), error_rate)
