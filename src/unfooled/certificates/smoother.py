"""What is certified: a base classifier under its random transformation, drawn from for many inputs at once.

Draws are numbered: asking for draws 0 to 99 at once, in ten parts, or with those of other inputs gives the
same counts (``unfooled.predictors.smoothing`` holds the transformations of texts, :mod:`.tensors` that of
images).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class VoteSampler(Protocol):
    """Draws labels; the same request always gets the same counts."""

    def counts(self, requests: Sequence[tuple[int, int, int]]) -> list[NDArray[np.int64]]:
        """For each (input, first draw, how many draws), how often each class was given: ``(classes,)``."""
        ...


@dataclass(frozen=True)
class Smoother:
    """The draws of some inputs. The two samplers have streams of their own: no draw serves both."""

    select: VoteSampler
    """Chooses the class (n0 draws)."""
    estimate: VoteSampler
    """Counts its votes (n draws)."""
    classes: int
    inputs: int
