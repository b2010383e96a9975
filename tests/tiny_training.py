"""A defence at work on a tiny model, without a trainer around it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from unfooled.data.task import Task
from unfooled.defences import Defence, Session, Step, Training, TrainingData, TrainingExample
from unfooled.models import Batch, Model

TASK = Task("tiny", "which of two classes", "single", ("bad", "good"), max_length=48, meaning_decides=True)
NOTHING = TrainingData((), ())
LABELS = [0, 1, 2, 0, 1, 2, 0, 1]
"""Of the texts of tiny_models."""
ANTONYMS = {
    "good": ("bad", "evil"),
    "bad": ("good",),
    "cold": ("warm",),
    "long": ("short",),
    "short": ("long",),
    "old": ("new", "young"),
    "man": ("woman",),
    "night": ("day",),
}
"""Some of WordNet's, which takes seconds to open."""
FULL = Step(done=1.0)
"""A step at the end of training, where every schedule has its full value."""


def begin(defence: Defence, model: Model, data: TrainingData = NOTHING, *, task: Task = TASK) -> Session[Any]:
    """The session of a resolved defence."""
    return defence.begin(Training(model, data, task, seed=0, steps=10))


def loss_of(defence: Defence, model: Model, batch: Batch, step: Step) -> Tensor:
    """The loss of one step; the copies that the defence makes are those of epoch 0."""
    session = begin(defence, model, data_of(batch))
    return session.loss(batch, with_copies(session, batch, step)).total


def data_of(batch: Batch) -> TrainingData:
    """The rows of a batch as training data."""
    assert batch.labels is not None
    return TrainingData(batch.encoded, batch.labels.tolist())


def with_copies(session: Session[Any], batch: Batch, step: Step, epoch: int = 0) -> Step:
    """The step with the copies that the session makes of each row in this epoch."""
    data = data_of(batch)
    examples = [TrainingExample(n, *row) for n, row in enumerate(zip(data.encoded, data.labels, strict=True))]
    makers = session.copy_makers(epoch, data)
    return replace(step, copies={name: maker(examples) for name, maker in makers.items()})
