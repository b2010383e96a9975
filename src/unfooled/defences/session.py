"""One training with a defence: what it is given, what a step asks of it, and what it may keep.

A defence begins a :class:`Session`. Most methods override :meth:`Session.loss` alone. One that needs several
backward passes per step (FreeLB) overrides :meth:`Session.backward`; one with weights of its own lists them
in ``modules``; one that changes the training data overrides :meth:`Session.on_epoch`. docs/defences.md shows
a method that uses every part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unfooled.data.task import Task
from unfooled.models import EncodedInput, Model, mix

D = TypeVar("D")


@dataclass(frozen=True)
class TrainingData:
    """Training inputs, as the model reads them, and one label per input."""

    encoded: Sequence[EncodedInput]
    labels: Sequence[int]

    def __len__(self) -> int:
        return len(self.encoded)


@dataclass(frozen=True)
class Training:
    """What a session begins with."""

    model: Model
    data: TrainingData
    """The training data as it was read, before any :meth:`Session.on_epoch`."""
    task: Task
    seed: int
    steps: int
    """Optimiser steps of the whole training, as planned from ``data``."""

    def generator(self, *key: int) -> torch.Generator:
        """Random numbers that depend on the seed and ``key`` (an epoch, an example) and on nothing else."""
        return torch.Generator().manual_seed(mix(self.seed, *key))


@dataclass(frozen=True)
class Losses:
    """The loss of a step in the two parts that a combination of defences must tell apart."""

    task: Tensor
    """The mean loss of the task (cross-entropy), on whatever inputs the method trains on."""
    extra: Tensor | None = None
    """What the method adds to it: a regulariser, a second term, weighted."""
    plain: bool = False
    """``task`` is the loss of plain fine-tuning: the inputs as they are, nothing added to them."""

    @property
    def total(self) -> Tensor:
        return self.task if self.extra is None else self.task + self.extra


def _accumulate(compute: Callable[[], Tensor]) -> Tensor:
    loss = compute()
    loss.backward()
    return loss.detach()


@dataclass(frozen=True)
class Step:
    """Where training stands, and how gradients are added."""

    done: float
    """Share of training that is done, 0 to 1."""
    number: int = 0
    """Optimiser steps before this one."""
    accumulate: Callable[[Callable[[], Tensor]], Tensor] = _accumulate
    """Computes a loss, adds its gradients to those of the weights, returns its value. All passes that are
    differentiated go through it: in distributed training it is what averages the gradients."""


class Session(Generic[D]):
    """A ``defence`` at work on one model: in training mode in steps, in evaluation mode in ``on_epoch``."""

    modules: Mapping[str, nn.Module] = {}
    """Weights that the method trains beside the model's: the optimiser, the checkpoints, ``train()`` and
    ``eval()``, the device and distributed training know them. Make them in ``__init__``."""

    def __init__(self, training: Training, defence: D) -> None:
        self.training = training
        self.defence = defence
        self.model = training.model

    def loss(self, batch: Any, step: Step) -> Losses:
        """The mean loss of a batch with labels; by default that of plain fine-tuning."""
        return Losses(self.task_loss(self.model.forward(batch).logits, batch), plain=True)

    def backward(self, batch: Any, step: Step) -> Tensor:
        """All passes of one step, each through ``step.accumulate``; the loss that is logged.

        By default one pass of :meth:`loss`. A method that overrides this brings its own task loss.
        """
        return step.accumulate(lambda: self.loss(batch, step).total)

    def overrides(self, method: str) -> bool:
        """Whether the session has its own ``loss`` or ``backward``: what a combination asks."""
        return getattr(type(self), method) is not getattr(Session, method)

    def on_epoch(self, epoch: int, data: TrainingData) -> TrainingData | None:
        """The training data of this epoch, made from the original ``data``; None leaves them as they are.

        It must depend on the seed, the epoch, the weights and the saved state alone: a resumed training calls
        it again. Global random generators are seeded from (seed, epoch) during the call.
        """
        return None

    def state_dict(self) -> dict[str, object]:
        """What else a checkpoint must hold: tensors, numbers, text, and lists and dictionaries of them.

        It must be the same on all processes of a distributed training.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Take back what :meth:`state_dict` gave."""

    def task_loss(self, logits: Tensor, batch: Any) -> Tensor:
        """The mean cross-entropy of a batch."""
        assert batch.labels is not None
        return F.cross_entropy(logits, batch.labels)
