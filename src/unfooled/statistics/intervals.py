"""Intervals for proportions: Wilson for reports, Clopper–Pearson where the guarantee matters."""

from __future__ import annotations

import math
from typing import Any


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a proportion; (0, 1) for no observations."""
    from scipy.stats import norm

    _check(successes, n, confidence)
    if n == 0:
        return 0.0, 1.0
    z = float(norm.ppf(0.5 + confidence / 2))
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval: covers the true proportion with at least the stated confidence."""
    from scipy.stats import beta

    _check(successes, n, confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, n - successes + 1))
    high = 1.0 if successes == n else float(beta.ppf(1 - tail, successes + 1, n - successes))
    return low, high


def rate(count: int, n: int) -> dict[str, Any]:
    """A proportion with its Wilson interval, as results are written; nothing to divide by gives no number."""
    interval = list(wilson(count, n)) if n else None
    return {"value": count / n if n else None, "count": count, "n": n, "interval": interval}


def _check(successes: int, n: int, confidence: float) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie between 0 and n, got {successes} of {n}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
