"""How two proportions on the same inputs differ: Newcombe's interval for paired data (1998, method 10).

Models that met the same inputs err on much the same ones, so their difference is known better than the
two proportions are: intervals of the two may overlap where the interval of the difference leaves 0 out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from unfooled.statistics.intervals import wilson


@dataclass(frozen=True)
class Difference:
    """The first proportion minus the second, with its interval, on ``n`` pairs."""

    value: float
    low: float
    high: float
    n: int

    @property
    def shown(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


def paired_difference(pairs: Iterable[tuple[bool, bool]], confidence: float = 0.95) -> Difference | None:
    """The difference of two proportions from what both did on each input; None without inputs.

    The interval joins the Wilson intervals of the two proportions, less what their correlation φ saves. A
    positive φ is corrected for continuity.
    """
    counted = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for first, second in pairs:
        counted[bool(first), bool(second)] += 1
    both, only_first, only_second, neither = counted.values()
    n = both + only_first + only_second + neither
    if n == 0:
        return None
    one, other = (both + only_first) / n, (both + only_second) / n
    phi = _correlation(both, only_first, only_second, neither)
    (low, high), (other_low, other_high) = (
        wilson(both + only, n, confidence) for only in (only_first, only_second)
    )
    value = (only_first - only_second) / n
    below = _joined(one - low, other_high - other, phi)
    above = _joined(high - one, other - other_low, phi)
    return Difference(value, max(-1.0, value - below), min(1.0, value + above), n)


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    n = both + only_first + only_second + neither
    sides = (both + only_first, only_second + neither, both + only_second, only_first + neither)
    if 0 in sides:
        return 0.0
    crossed: float = both * neither - only_first * only_second
    if crossed > 0:
        crossed = max(crossed - n / 2, 0.0)
    return crossed / math.sqrt(math.prod(sides))


def _joined(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))
