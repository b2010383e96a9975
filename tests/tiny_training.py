"""A defence at work on a tiny model, without a trainer around it."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from unfooled.data.task import Task
from unfooled.defences import Defence, Session, Step, Training, TrainingData
from unfooled.models import Batch, Model

TASK = Task("tiny", "which of two classes", "single", ("bad", "good"), max_length=48)
NOTHING = TrainingData((), ())
LABELS = [0, 1, 2, 0, 1, 2, 0, 1]
"""Of the texts of tiny_models."""
FULL = Step(done=1.0)
"""A step at the end of training, where every schedule has its full value."""


def begin(defence: Defence, model: Model, data: TrainingData = NOTHING) -> Session[Any]:
    """The session of a resolved defence."""
    return defence.begin(Training(model, data, TASK, seed=0, steps=10))


def loss_of(defence: Defence, model: Model, batch: Batch, step: Step) -> Tensor:
    """The loss of one step."""
    return begin(defence, model).loss(batch, step).total
