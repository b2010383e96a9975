"""Intervals of proportions and means in reports. Certificates rest on ``unfooled.statistics.confidence``.

The one-sided bounds there are not SciPy's: they are vectorised over many inputs and rounded to the safe side,
which ``binomtest`` does not promise.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache

from unfooled.files import JsonObject


@lru_cache(maxsize=4096)  # binomtest takes a millisecond, and a report asks for the same counts again
def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a proportion; (0, 1) for no observations."""
    from scipy.stats import binomtest

    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n, got {successes} of {n}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    if n == 0:
        return 0.0, 1.0
    interval = binomtest(int(successes), int(n)).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def mean_interval(scores: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a mean of scores between 0 and 1: Wilson's if all are 0 or 1, else Student's t."""
    if all(score in (0, 1) for score in scores):
        return wilson(round(sum(scores)), len(scores), confidence)
    _, interval = student_mean(scores, at_least=0.0, at_most=1.0, confidence=confidence)
    return interval or (0.0, 1.0)


def student_mean(
    values: Sequence[float],
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    confidence: float = 0.95,
) -> tuple[float, tuple[float, float] | None]:
    """The mean and its Student's t interval; one value has none.

    No value can lie below ``at_least`` or above ``at_most``, so neither can their mean: what lies beyond is
    cut off. The mean is never outside its interval.
    """
    from scipy.special import stdtrit

    n = len(values)
    mean = min(max(statistics.fmean(values), at_least), at_most)
    if n < 2:
        return mean, None
    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * statistics.stdev(values) / math.sqrt(n)
    return mean, (max(at_least, mean - reach), min(at_most, mean + reach))


def rate(count: int, n: int) -> JsonObject:
    """A proportion with its Wilson interval, as results are written; nothing to divide by gives no number."""
    interval = list(wilson(count, n)) if n else None
    return {"value": count / n if n else None, "count": count, "n": n, "interval": interval}
