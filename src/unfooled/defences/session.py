"""One training with a defence: what it is given, what a step asks of it, and what it may keep.

A defence begins a :class:`Session`. A method that adds a term to plain fine-tuning overrides
:meth:`Session.terms`, and shares one forward pass with the other methods of a combination; one that trains on
inputs of its own overrides :meth:`Session.loss`. One that needs several backward passes per step (FreeLB)
overrides :meth:`Session.backward`; one that minimises something else than the task loss overrides
:meth:`Session.shaped`; one with weights of its own lists them in ``modules``; one that changes the training
data overrides :meth:`Session.on_epoch`; one that compares each example with changed copies of it overrides
:meth:`Session.copies`. docs/extension-points.md lists every part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unfooled.data.task import Task
from unfooled.defences.parts.preparation import MadeExamples
from unfooled.files import JsonObject
from unfooled.hub.schedules import Schedule
from unfooled.models import EncodedInput, Forward, Model, mix

D = TypeVar("D")


@dataclass(frozen=True)
class TrainingData:
    """Training inputs, as the model reads them, and one label per input.

    Of questions: windows, and the first and the last token of each answer.
    """

    encoded: Sequence[EncodedInput]
    labels: Sequence[Any]

    def __len__(self) -> int:
        return len(self.encoded)

    def lengths(self) -> list[int]:
        """The length of every example; images, which are read one by one, are all alike."""
        return [1] * len(self) if hasattr(self.encoded, "at_epoch") else [len(item) for item in self.encoded]

    def at_epoch(self, epoch: int) -> TrainingData:
        """The same examples in this epoch: images may be drawn anew."""
        anew = getattr(self.encoded, "at_epoch", None)
        return self if anew is None else replace(self, encoded=anew(epoch))


@dataclass(frozen=True)
class TrainingExample:
    """One training example of an epoch, as copies are made of it."""

    number: int
    """Its place in the data of the epoch: what random numbers are keyed by."""
    encoded: EncodedInput
    label: Any


CopyMaker = Callable[[Sequence[TrainingExample]], Sequence[Any]]
"""What travels with each of these examples: copies of it, encoded."""


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
    epochs: float = 0.0
    made: Mapping[str, MadeExamples] = field(default_factory=dict)
    """What was made before training, by the name of the defence that asked for it (``preparation``)."""
    process: int = 0
    processes: int = 1
    """Which of how many processes this is, where ``on_epoch`` shares its work between them."""
    watch: Callable[[str, int, int], None] = lambda what, done, total: None
    """Hears of long work between steps: what it is, how much is done, of how much."""

    def generator(self, *key: int) -> torch.Generator:
        """Random numbers that depend on the seed and ``key`` (an epoch, an example) and on nothing else."""
        return torch.Generator().manual_seed(mix(self.seed, *key))


@dataclass(frozen=True)
class OwnRate:
    """A module that is trained with a peak learning rate, and perhaps a schedule, of its own."""

    module: nn.Module
    lr: float
    schedule: Schedule | None = None


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


@dataclass
class Pass:
    """One forward pass of a batch with labels, from ``start``: what terms are computed from."""

    batch: Any
    start: Tensor
    """The word embeddings, or pixels, that the pass began with."""
    forward: Forward
    task: Tensor
    """The mean task loss of the pass."""
    penalty: Tensor | None = field(default=None, init=False)
    """The sum of all penalties (:meth:`Session.penalty`): they are there before any term is computed."""

    @cached_property
    def task_gradient(self) -> Tensor:
        """Of the task loss with respect to ``start``; no weight gradient is computed for it."""
        (found,) = torch.autograd.grad(self.task, self.start, retain_graph=True)
        return found

    @cached_property
    def gradient(self) -> Tensor:
        """Of task loss and penalties with respect to ``start``; no weight gradient is computed for it."""
        if self.penalty is None:
            return self.task_gradient
        (found,) = torch.autograd.grad(
            self.penalty, self.start, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        return self.task_gradient + found


def _accumulate(compute: Callable[[], Tensor]) -> Tensor:
    loss = compute()
    loss.backward()
    return loss.detach()


def _forget(name: str, value: Tensor) -> None:
    """Nobody logs."""


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
    copies: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """By defence, what its copy maker made of each row of the batch (:meth:`Session.copied`)."""
    note: Callable[[str, Tensor], None] = _forget
    """Takes down a number of this step: its mean is logged with the loss, for TensorBoard and the history."""


class Session(Generic[D]):
    """A ``defence`` at work on one model: in training mode in steps, in evaluation mode in ``on_epoch``."""

    modules: Mapping[str, nn.Module] = {}
    """Weights that the method trains beside the model's: the optimiser, the checkpoints, ``train()`` and
    ``eval()``, the device and distributed training know them. Make them in ``__init__``."""

    hidden_states: bool = False
    """Whether its terms read hidden states (``Pass.forward.hidden``)."""

    in_every_pass: ClassVar[bool] = False
    """Whether its penalty and terms, and the shape it gives the task loss, belong to every pass that another
    part of a combination makes (``backward``: the points of FreeLB), and not to the clean inputs alone."""

    whole_from: float = 0.0
    """Share of training from which the method has its full weight. An epoch without a step after it is not
    kept, however well it does on dev, unless it is the last. Methods whose noise or masks rise need none:
    dev is answered by the deployed predictor, with all of them."""

    companions: Sequence[Session[Any]] = ()
    """For a session with ``backward``, set by a combination: the parts whose penalty and terms are to be
    added to each of its passes (:meth:`added`), and that shape its task loss (:func:`shaped_by`)."""

    def __init__(self, training: Training, defence: D) -> None:
        self.training = training
        self.defence = defence
        self.model = training.model

    def loss(self, batch: Any, step: Step) -> Losses:
        """The mean loss of a batch with labels; by default that of plain fine-tuning, and :meth:`terms`."""
        seen = self.look(batch, [self])
        step.note("task_loss", seen.task)
        return Losses(self.shaped(seen.task, step), self.added(seen, step, [self]), plain=True)

    def shaped(self, task: Tensor, step: Step) -> Tensor:
        """What is minimised in place of a mean task loss (flooding), whichever method computed it."""
        return task

    def penalty(self, seen: Pass, step: Step) -> Tensor | None:
        """A term, weighted, that an adversary raises together with the task loss (InfoBERT's bottleneck)."""
        return None

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        """What the method adds to the task loss, weighted, computed from a pass; None if nothing."""
        return None

    def look(self, batch: Any, sessions: Iterable[Session[Any]] = (), start: Tensor | None = None) -> Pass:
        """A pass of the batch, from its own start if none is given, with what ``sessions`` read of it."""
        start = self.model.start(batch) if start is None else start
        hidden = any(session.hidden_states for session in sessions)
        forward = self.model.forward(batch, start=start, hidden_states=hidden)
        return Pass(batch, start, forward, self.task_loss(forward.logits, batch))

    @staticmethod
    def added(seen: Pass, step: Step, sessions: Sequence[Session[Any]]) -> Tensor | None:
        """The penalties and terms of ``sessions`` for this pass, summed; None if there are none."""
        penalties = [session.penalty(seen, step) for session in sessions]
        seen.penalty = total(penalties)
        terms = [session.terms(seen, step) for session in sessions]
        for session, *own in zip(sessions, penalties, terms, strict=True):
            if (added := total(own)) is not None:
                step.note(f"{session.defence.name}_loss", added)
        return total([seen.penalty, *terms])

    def backward(self, batch: Any, step: Step) -> Tensor:
        """All passes of one step, each through ``step.accumulate``; the loss that is logged.

        By default one pass of :meth:`loss`. A method that overrides this brings its own task loss.
        """
        return step.accumulate(lambda: self.loss(batch, step).total)

    def overrides(self, method: str) -> bool:
        """Whether the session has its own ``loss``, ``terms``, …: what a combination asks."""
        return getattr(type(self), method) is not getattr(Session, method)

    def on_epoch(self, epoch: int, data: TrainingData) -> TrainingData | None:
        """The training data of this epoch, made from the original ``data``; None leaves them as they are.

        It must depend on the seed, the epoch, the weights and the saved state alone: a resumed training calls
        it again. Global random generators are seeded from (seed, epoch) during the call.
        """
        return None

    def copies(self, epoch: int, data: TrainingData) -> CopyMaker | None:
        """What makes copies of the examples of this epoch, or None; the steps get them (:meth:`copied`).

        The maker is called in the processes of the data loader, which the steps do not wait for: it must be
        picklable, touch no device, and draw by (seed, epoch, number of the example) alone. ``data`` are those
        of the epoch, after every ``on_epoch``.
        """
        return None

    def lengths(self, epoch: int, data: TrainingData) -> Sequence[int] | None:
        """The length of each example of this epoch as the method trains on it; None: as it is in ``data``.

        Batches are put together by it. A method that trains on copies of other lengths saves padding.
        """
        return None

    def copy_makers(self, epoch: int, data: TrainingData) -> dict[str, CopyMaker]:
        """The copy maker of this session, or of each part of a combination, by the name of the defence."""
        maker = self.copies(epoch, data)
        return {} if maker is None else {cast(Any, self.defence).name: maker}

    def makes_copies(self) -> bool:
        """Whether :meth:`copy_makers` gives any: what decides on worker processes of the data loader."""
        return self.overrides("copies")

    def copied(self, step: Step) -> Sequence[Any]:
        """What the copy maker of this session made of each row of the step's batch."""
        return step.copies[cast(Any, self.defence).name]

    def own_rates(self) -> Sequence[OwnRate]:
        """Modules, of the model's or of its own, that are trained with other learning rates than the rest."""
        return ()

    def state_dict(self) -> dict[str, object]:
        """What else a checkpoint must hold: tensors, numbers, text, and lists and dictionaries of them.

        It must be the same on all processes of a distributed training.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Take back what :meth:`state_dict` gave."""

    def figures(self) -> JsonObject:
        """What the records of the run should tell about this training (``defence`` in ``metrics.json``)."""
        return {}

    def warnings(self) -> list[str]:
        """What looks wrong so far; asked at the beginning and at the end of training.

        By default: that the weights of the method (``weights``, names of settings) are all 0.
        """
        names: Sequence[str] = getattr(self.defence, "weights", ())
        if not names or any(getattr(self.defence, name) for name in names):
            return []
        told = " and ".join(f"{name} is 0" for name in names)
        return [f"{cast(Any, self.defence).name}: {told}, so it adds nothing to the training."]

    def task_loss(self, logits: Tensor, batch: Any) -> Tensor:
        """The mean cross-entropy of a batch; of questions, that of begin and end."""
        assert batch.labels is not None
        return F.cross_entropy(logits.flatten(0, -2), batch.labels.flatten())


def shaped_by(sessions: Iterable[Session[Any]], task: Tensor, step: Step) -> Tensor:
    """A mean task loss as the sessions, one after the other, shape it (:meth:`Session.shaped`)."""
    for session in sessions:
        task = session.shaped(task, step)
    return task


def total(losses: Iterable[Tensor | None]) -> Tensor | None:
    """The sum of those that are there."""
    found = [loss for loss in losses if loss is not None]
    return sum(found[1:], found[0]) if found else None
