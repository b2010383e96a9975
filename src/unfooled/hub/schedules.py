"""How the learning rate changes over a training, by name.

``linear`` falls evenly to 0, ``cosine`` along half a wave, ``constant`` stays; ``step:0.1:30`` is multiplied
by 0.1 every 30 epochs. The rise at the beginning (``warmup``) comes before all of them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from unfooled.errors import UsageError
from unfooled.parsing import quoted

_SMOOTH = ("linear", "cosine", "constant")
_STEP = re.compile(r"step:(\d*\.?\d+):(\d*\.?\d+)")


@dataclass(frozen=True)
class Schedule:
    """The share of the peak learning rate at any time after the warm-up."""

    name: str
    factor: float = 1.0
    every: float = 1.0
    """Epochs between two steps."""

    def __call__(self, done: float, epoch: float) -> float:
        """``done`` is the share of the time after the warm-up that is over, ``epoch`` counts from 0."""
        if self.name == "step":
            return float(self.factor ** int(epoch / self.every + 1e-9))
        if self.name == "constant":
            return 1.0
        done = min(1.0, done)
        return 1 - done if self.name == "linear" else 0.5 * (1 + math.cos(math.pi * done))


def make_schedule(name: str, setting: str = "schedule") -> Schedule:
    """The schedule called ``name``; ``setting`` is who asks."""
    if name in _SMOOTH:
        return Schedule(name)
    found = _STEP.fullmatch(str(name))
    if found and 0 < float(found[1]) <= 1 and float(found[2]) > 0:
        return Schedule("step", float(found[1]), float(found[2]))
    raise UsageError(
        f"{setting} must be {', '.join(_SMOOTH)} or step:FACTOR:EPOCHS with a factor of at most 1 "
        f"(step:0.1:30), got {quoted(name)}."
    )
