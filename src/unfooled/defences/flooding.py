"""Flooding: the training loss does not fall below a level (Ishida, Yamane, Sakai, Niu, Sugiyama; ICML 2020).

    |L − b| + b,   L the mean task loss of a mini-batch

Above the flood level b this is L; below it the gradient turns round, so that training wanders over weights
whose loss is about b instead of driving it to 0. Liu et al. 2022 (Flooding-X, ACL) found that encoders that
are trained this way are harder to fool by changed words, at no cost.

Whatever loses the task loss is flooded: in ``rsmi+flooding`` that of RSMI's masked inputs, in
``freelb+flooding`` that of each of the K passes, while FreeLB's adversary raises the loss itself.

Deviations. Flooding-X finds its moment by how far the gradients of two batches agree; here b is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from unfooled.defences.session import Session, Step, Training
from unfooled.models import Model
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting


@dataclass(frozen=True)
class Flooding:
    """Plain fine-tuning down to a loss of b, and no further."""

    name: ClassVar[str] = "flooding"
    summary: ClassVar[str] = "Training loss kept from falling below a level (Ishida et al. 2020)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    deployed_as: ClassVar[str] = "plain"
    weights: ClassVar[tuple[str, ...]] = ("level",)

    level: float = setting(0.1, "Flood level (b) of the mean loss of a mini-batch", at_least=0)

    def resolved(self, model: Model) -> Flooding:
        return self

    def begin(self, training: Training) -> FloodingSession:
        return FloodingSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()


class FloodingSession(Session[Flooding]):
    """The task loss with its gradient turned round below the level."""

    in_every_pass = True

    def warnings(self) -> list[str]:
        found, classes, level = super().warnings(), len(self.training.task.labels), self.defence.level
        if classes > 1 and level >= (guessed := math.log(classes)):
            found.append(
                f"flooding: a level of {level:g} is not below the cross-entropy of guessing ({guessed:.2f} "
                f"for {classes} labels): where that is the whole task loss, training moves away from the "
                "answers. Choose a smaller level."
            )
        return found

    def shaped(self, task: Tensor, step: Step) -> Tensor:
        level = self.defence.level
        step.note("flooded", (task < level).float())
        return (task - level).abs() + level
