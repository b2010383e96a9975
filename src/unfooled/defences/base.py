"""What a defence is: settings, a training loss, and the predictor it is deployed with.

A defence is a frozen dataclass in a file of its own and one line in the registry
(``unfooled/defences/__init__.py``); nothing else changes when one is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from torch import Tensor, nn

from unfooled.models import Batch, Encoded, TextModel
from unfooled.predictors import Predictor


@dataclass(frozen=True)
class Step:
    """Where training stands, and the module to call for the pass that is differentiated."""

    done: float
    """Share of training that is done, 0 to 1."""
    call: nn.Module | None = None
    """The wrapped module in distributed training."""


class Defence(Protocol):
    """A method of training and the predictor that belongs to it."""

    name: ClassVar[str]
    summary: ClassVar[str]
    learning_rate: ClassVar[float]
    """The default for the shipped encoder; ``--lr`` overrides it."""

    def resolved(self, model: TextModel) -> Defence:
        """Defaults filled in for this encoder; what it cannot serve is refused, before any work."""
        ...

    def loss(self, model: TextModel, batch: Batch, step: Step) -> Tensor:
        """The mean training loss of a batch with labels."""
        ...

    def predictor(self, model: TextModel) -> Predictor: ...


def remade(model: TextModel, batch: Batch, encoded: Sequence[Encoded]) -> Batch:
    """A batch of other inputs with the same labels: for defences that change words (``Batch.encoded``)."""
    return replace(model.batch(encoded), labels=batch.labels)
