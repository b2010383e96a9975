"""From class probabilities to radii: one file per family, one promise per function.

``p_top`` is a lower bound of the predicted class's probability under the noise and ``p_second`` an upper
bound of every other class's, both for the smoothed classifier that is deployed; ``p_second = 1 - p_top`` is
always allowed. All functions broadcast, give floats for floats, return 0 where ``p_top <= p_second`` and
round down: where rounding could matter at all, the number is the smaller one.

>>> gaussian_l2(0.99, 0.01, sigma=0.5)
1.163173937...
"""

from __future__ import annotations

from unfooled.statistics.bounds.composed import composed_each_word, composed_l2, composed_linf
from unfooled.statistics.bounds.deletion import (
    deletion_deletions,
    deletion_edits,
    deletion_insertions,
    deletion_words,
)
from unfooled.statistics.bounds.gaussian import gaussian_l2, gaussian_l2_probability
from unfooled.statistics.bounds.laplace import laplace_l1
from unfooled.statistics.bounds.pixeldp import pixeldp_l2
from unfooled.statistics.bounds.renyi import renyi_l2
from unfooled.statistics.bounds.substitutions import masked_words, synonym_words
from unfooled.statistics.bounds.theorem1 import UnsoundBoundWarning, rsmi_theorem1_radius

__all__ = [
    "UnsoundBoundWarning",
    "composed_each_word",
    "composed_l2",
    "composed_linf",
    "deletion_deletions",
    "deletion_edits",
    "deletion_insertions",
    "deletion_words",
    "gaussian_l2",
    "gaussian_l2_probability",
    "laplace_l1",
    "masked_words",
    "pixeldp_l2",
    "renyi_l2",
    "rsmi_theorem1_radius",
    "synonym_words",
]
