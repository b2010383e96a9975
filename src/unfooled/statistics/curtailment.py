"""Whether the votes still to come can, or will, change the winner of a vote of fixed size.

*Curtailment* stops a vote when no outcome of the rest changes the winner: the same answer, always.
*Stochastic curtailment* stops when a change is improbable. The probability is predictive: of the votes for
the leader and for one other class, the leader's share has the posterior Beta(1 + own votes, 1 + the other's)
of a uniform prior, so its votes among those to come are beta-binomial. All of them are taken to go to these
two, and the probabilities of the other classes add up. Ties go to the lower class.

If the shares of many inputs are spread evenly, as the prior says, the winner changes as often as stated; for
other inputs it is a rule to be measured (``benchmarks/rsmi_cost.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np


def cannot_change(votes: Sequence[int], left: int) -> bool:
    """No outcome of the ``left`` votes still to come changes the winner."""
    leader = _leader(votes)
    return all(_most(votes, leader, other, left) < 0 for other in range(len(votes)) if other != leader)


@lru_cache(maxsize=65536)
def change_probability(votes: tuple[int, ...], left: int) -> float:
    """Probability that another class wins after ``left`` more votes; 0 exactly if none can."""
    leader = _leader(votes)
    total = 0.0
    for other, count in enumerate(votes):
        if other != leader and (most := _most(votes, leader, other, left)) >= 0:
            total += _at_most(most, left, 1 + votes[leader], 1 + count)
    return min(1.0, total)


def _at_most(most: int, n: int, a: int, b: int) -> float:
    """P(X ≤ ``most``) for X beta-binomial; scipy's own distribution takes ten times as long."""
    from scipy.special import betaln, gammaln

    counts = np.arange(min(most, n) + 1)
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    return float(np.exp(ways + betaln(counts + a, n - counts + b) - betaln(a, b)).sum())


def _leader(votes: Sequence[int]) -> int:
    return max(range(len(votes)), key=votes.__getitem__)


def _most(votes: Sequence[int], leader: int, other: int, left: int) -> int:
    """The most further votes for the leader, the rest going to ``other``, with which ``other`` wins."""
    gap = votes[other] + left - votes[leader]  # the leader needs more than half of this to stay ahead
    return gap // 2 if other < leader else (gap + 1) // 2 - 1
