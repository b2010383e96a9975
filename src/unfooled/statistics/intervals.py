"""Wilson intervals for the proportions in reports. Certificates rest on ``unfooled.statistics.confidence``.

The one-sided bounds there are not SciPy's: they are vectorised over many inputs and rounded to the safe side,
which ``binomtest`` does not promise.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any


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


def rate(count: int, n: int) -> dict[str, Any]:
    """A proportion with its Wilson interval, as results are written; nothing to divide by gives no number."""
    interval = list(wilson(count, n)) if n else None
    return {"value": count / n if n else None, "count": count, "n": n, "interval": interval}
