"""What a task is: its inputs, its labels, its metric and where its rows come from.

A named task is one :class:`Task` in a file of ``named/``; own files and hub datasets make
theirs on the fly. ``qa`` and ``image`` are kinds the rest of the code may ask about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from unfooled.data.rows import Splits
from unfooled.errors import AssetError
from unfooled.records.metric import METRICS, Truth

Kind = Literal["single", "pair", "qa", "image"]
ReadRows = Callable[[Path], Splits]


@dataclass(frozen=True)
class Task:
    """A classification task; ``read`` turns the folder of its asset into rows."""

    name: str
    description: str
    kind: Kind
    labels: tuple[str, ...]
    max_length: int
    """Recommended number of tokens to keep of an input."""
    meaning_decides: bool | None = None
    """Whether the opposite meaning gets another label (sentiment: yes; topics: no); None: nobody has said."""
    metric: str = "accuracy"
    """How answers are scored, by name (see :data:`~unfooled.records.metric.METRICS`)."""
    asset: str | Path | None = None
    """Where its rows are: the name of an asset, or the folder that a package of its own brings along."""
    read: ReadRows | None = field(default=None, repr=False, compare=False)

    def score(self, answer: Truth, truth: Truth) -> float:
        """How good an answer is, from 0 to 1."""
        return METRICS.choose(self.metric).score(answer, truth)


def find(folder: Path, name: str) -> Path:
    """The one file called ``name`` anywhere under the folder of an asset, for readers."""
    for path in sorted(folder.rglob(name)):
        return path
    raise AssetError(
        f"{folder} holds no {name}. Fetch the asset again with `unfooled assets get NAME --force`; "
        "`unfooled assets list` shows the names."
    )
