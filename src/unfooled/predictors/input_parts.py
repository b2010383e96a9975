"""Inputs that are read in several rows: the windows of a long context. Most inputs are one row.

Predictors make forward passes of parts and decide about inputs: :func:`parts_of` takes inputs apart,
:meth:`Parts.compared` puts together what passes say about the parts of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from unfooled.models import Compared, EncodedInput, Model
from unfooled.predictors.predictor import Seed


@dataclass(frozen=True)
class Parts:
    """The parts of all inputs, one after another."""

    model: Model
    inputs: Sequence[EncodedInput]
    rows: Sequence[EncodedInput]
    of: Sequence[Sequence[int]]
    """The places in ``rows`` of the parts of each input."""

    def seeds(self, seed: Seed) -> Seed:
        """One seed for all, or that of its input for each part."""
        if isinstance(seed, int):
            return seed
        return [own for own, places in zip(seed, self.of, strict=True) for _ in places]

    def places(self, owners: Iterable[int]) -> list[int]:
        """The places of the parts of these inputs."""
        return [place for owner in owners for place in self.of[owner]]

    def compared(self, owner: int, readings: Any) -> Compared:
        """All passes over an input; ``readings[place]`` has one reading of that part per pass."""
        own = [readings[place] for place in self.of[owner]]
        return self.model.compared(self.inputs[owner], list(zip(*own, strict=True)))

    def positions(self, owner: int, found: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Positions in the parts of an input, counted on from part to part."""
        first, numbered = 0, []
        for place in self.of[owner]:
            numbered += [first + position for position in found[place]]
            first += len(self.rows[place])
        return tuple(numbered)


def parts_of(model: Model, inputs: Sequence[EncodedInput]) -> Parts:
    """The inputs taken apart, as the model reads them."""
    rows: list[EncodedInput] = []
    of = []
    for item in inputs:
        own = model.parts(item)
        of.append(range(len(rows), len(rows) + len(own)))
        rows += own
    return Parts(model, inputs, rows, of)
