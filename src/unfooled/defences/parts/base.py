"""What a defence is: settings, a way of training, and the predictor it is deployed with.

A defence is a frozen dataclass in a file of its own and one line in the registry
(``unfooled/defences/__init__.py``); nothing else changes when one is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, Protocol

from unfooled.defences.session import Session, Training
from unfooled.models import Batch, Encoded, Model
from unfooled.predictors import Predictor


class Defence(Protocol):
    """A method of training and the predictor that belongs to it.

    One that cannot serve a kind of model says why in ``refuses``, a dictionary by ``Model.kind``.
    """

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def learning_rate(self) -> float:
        """The default for the shipped encoder; ``--lr`` overrides it."""
        ...

    @property
    def certifies(self) -> tuple[str, ...]:
        """The threats it trains for: certificates against them are worth having."""
        ...

    @property
    def deployed_as(self) -> str:
        """The name of its predictor."""
        ...

    def resolved(self, model: Model) -> Defence:
        """Defaults filled in for this model; what it cannot serve is refused, before any work."""
        ...

    def begin(self, training: Training) -> Session[Any]:
        """Start training; called on a resolved defence."""
        ...

    def predictor(self, model: Model) -> Predictor: ...


NO_WORDS = "it works on words, and images have none"
"""Why a defence refuses models of images."""


def remade(model: Model, batch: Batch, encoded: Sequence[Encoded]) -> Batch:
    """A batch of other inputs with the same labels: for defences that change words (``Batch.encoded``)."""
    return replace(model.batch(encoded), labels=batch.labels)


@contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """No dropout inside, in a step of training."""
    training = model.module.training
    model.module.eval()
    attention = getattr(model, "trained_attention", nullcontext)()  # models of texts have it
    try:
        with attention:
            yield
    finally:
        model.module.train(training)
