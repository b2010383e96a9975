"""From vote counts to bounds on probabilities: fixed samples, or as many as the question needs.

:mod:`.exact` is Clopper–Pearson for a number of samples fixed beforehand, :mod:`.sequence` the bounds that
hold at every sample at once, :mod:`.decision` the sequential answer to «is p ≥ t?».

>>> clopper_pearson_lower(100_000, 100_000, alpha=0.001)
0.99993092...
>>> SequentialDecision(0.84, alpha=0.001).update(97, 100)
<Verdict.YES: 1>
"""

from __future__ import annotations

from unfooled.statistics.confidence.exact import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    two_class_bounds,
)
from unfooled.statistics.confidence.sequence import ConfidenceSequence, sequence_lower, sequence_upper
from unfooled.statistics.confidence.sequential_test import SequentialDecision, Verdict

__all__ = [
    "ConfidenceSequence",
    "SequentialDecision",
    "Verdict",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "sequence_lower",
    "sequence_upper",
    "two_class_bounds",
]
