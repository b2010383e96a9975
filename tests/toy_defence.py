"""A defence that uses every part of the seam: the example of docs/extension-points.md.

It adds a term with a trained critic, keeps a count that its weight depends on, adds copies of some examples
in every epoch, weighs examples by numbers that the data loader draws, says by which lengths batches are put
together, and with ``passes`` above 1 makes several backward passes per step on inputs that it moves.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from unfooled.defences import DEFENCES, Pass, Session, Step, Training, TrainingData, TrainingExample
from unfooled.models import Model, mix
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting


@dataclass(frozen=True)
class Toy:
    """Settings of the toy."""

    name: ClassVar[str] = "toy"
    summary: ClassVar[str] = "A critic, a count, more data, several passes"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    deployed_as: ClassVar[str] = "plain"

    weight: float = setting(0.5, "Weight of the critic's term", at_least=0)
    added: int = setting(20, "Examples that are added in an epoch", at_least=0)
    passes: int = setting(1, "Backward passes per step (K)", at_least=1)

    @property
    def own_passes(self) -> bool:
        return self.passes > 1

    def resolved(self, model: Model) -> Toy:
        return self

    def begin(self, training: Training) -> ToySession:
        return ToySession(training, self) if self.passes == 1 else SeveralPasses(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()


@dataclass(frozen=True)
class Draws:
    """One number per example, in place of copies of it."""

    seed: int
    epoch: int

    def __call__(self, examples: Sequence[TrainingExample]) -> list[float]:
        return [random.Random(mix(self.seed, self.epoch, one.number)).random() for one in examples]


class ToySession(Session[Toy]):
    """Cross-entropy + the critic's term."""

    def __init__(self, training: Training, defence: Toy) -> None:
        super().__init__(training, defence)
        self.critic = nn.Linear(training.model.num_labels, 1)
        self.modules = {"critic": self.critic}
        self.steps = 0

    def terms(self, seen: Pass, step: Step) -> Tensor:
        self.steps += 1
        return self.term(seen.forward.logits, step)

    def term(self, logits: Tensor, step: Step) -> Tensor:
        """The weight falls with the steps that were counted."""
        weight = self.defence.weight * 10 / (10 + self.steps)
        drawn = torch.tensor(self.copied(step)) if step.copies else torch.ones(len(logits))
        return weight * ((self.critic(logits).squeeze(-1) - 1).square() * drawn).mean()

    def copies(self, epoch: int, data: TrainingData) -> Draws:
        return Draws(self.training.seed, epoch)

    def lengths(self, epoch: int, data: TrainingData) -> list[int]:
        return [mix(self.training.seed, epoch, number) % 9 for number in range(len(data))]

    def on_epoch(self, epoch: int, data: TrainingData) -> TrainingData:
        order = torch.randperm(len(data), generator=self.training.generator(epoch))
        again = order[: self.defence.added * (epoch + 1)].tolist()
        return TrainingData(
            [*data.encoded, *(data.encoded[index] for index in again)],
            [*data.labels, *(data.labels[index] for index in again)],
        )

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.steps = state["steps"]


class SeveralPasses(ToySession):
    """The same on inputs that move along the gradient: one backward pass per move."""

    def backward(self, batch: Any, step: Step) -> Tensor:
        self.steps += 1
        moved = torch.zeros_like(self.model.start(batch)).requires_grad_()
        losses = []
        for _ in range(self.defence.passes):
            losses.append(step.accumulate(lambda moved=moved: self.one_pass(batch, moved, step)))  # type: ignore[misc]
            assert moved.grad is not None
            moved = (moved + 0.05 * moved.grad.sign()).detach().requires_grad_()
        return torch.stack(losses).sum()

    def one_pass(self, batch: Any, moved: Tensor, step: Step) -> Tensor:
        logits = self.model.forward(batch, start=self.model.start(batch) + moved).logits
        return (self.task_loss(logits, batch) + self.term(logits, step)) / self.defence.passes


def register() -> None:
    """Make the toy known by name in this process."""
    DEFENCES["toy"] = Toy
