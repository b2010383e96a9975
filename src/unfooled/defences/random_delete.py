"""Random deletion in training (RS-Del, Huang et al. 2023; CERT-ED, Huang et al. 2024).

At every step each word of a text is deleted with the rate of the predictor, anew; what is left is the input,
put together by the predictor's own code. A step costs as many tokens as words were kept, so that ``draws``
versions of each text per step are cheap. Deployed with the vote ``random-delete``.

Deviations. The papers train on one version per step. ``consistency`` adds, with two draws or more, the mean
divergence of each version's answer from their mean answer (Jeong and Shin 2020): certificates live on votes
that agree. The deletion rate may rise over the first part of training (``warmup``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from unfooled.defences.scale import risen
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.errors import UsageError
from unfooled.models import Batch, Model, as_text
from unfooled.predictors.smoothing import RandomWordDelete, WordAssembler
from unfooled.settings import setting


@dataclass(frozen=True)
class RandomDelete:
    """Trained and deployed on random subsequences of each text's words."""

    name: ClassVar[str] = "random-delete"
    summary: ClassVar[str] = (
        "Trained on what random deletion leaves; certifiable against edits (Huang et al.)"
    )
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("edits", "words")
    deployed_as: ClassVar[str] = "random-delete"

    rates: tuple[float, ...] = setting((0.9,), "Share of words deleted (p): one rate, or one per length bin")
    bins: tuple[int, ...] = setting((), "Largest number of words of each length bin but the last")
    draws: int = setting(2, "Versions of each text per step", at_least=1)
    consistency: float = setting(0.0, "Weight of the consistency between the versions (λ)", at_least=0)
    warmup: float = setting(
        0.0, "Share of training over which the deletion rate rises from nothing", at_least=0, at_most=1
    )
    votes: int = setting(100, "Votes of a prediction (k)", at_least=1)

    def resolved(self, model: Model) -> RandomDelete:
        self.predictor(as_text(model)).check(model)
        if self.consistency and self.draws < 2:
            raise UsageError("consistency compares versions of a text: give draws=2 or more.")
        return self

    def begin(self, training: Training) -> RandomDeleteSession:
        return RandomDeleteSession(training, self)

    def predictor(self, model: Model) -> RandomWordDelete:
        return RandomWordDelete(rates=self.rates, bins=self.bins, votes=self.votes)


class RandomDeleteSession(Session[RandomDelete]):
    """Cross-entropy on what is left of each text, and the consistency between versions."""

    def __init__(self, training: Training, defence: RandomDelete) -> None:
        super().__init__(training, defence)
        self._assembler = WordAssembler(as_text(self.model))
        self._predictor = defence.predictor(self.model)

    def loss(self, batch: Batch, step: Step) -> Losses:
        settings, share = self.defence, risen(step, self.defence.warmup)
        versions = [
            self._assembler.left(words, (torch.rand(total) >= share * self._predictor.rate(total)).tolist())
            for _ in range(settings.draws)
            for words in self._assembler.read_all([item.texts for item in batch.encoded])
            for total in (sum(map(len, words)),)
        ]
        logits = self.model.forward(self.model.batch(versions)).logits.view(settings.draws, len(batch), -1)
        task = torch.stack([self.task_loss(own, batch) for own in logits]).mean()
        return Losses(task, settings.consistency * divergence(logits) if settings.consistency else None)


def divergence(logits: Tensor) -> Tensor:
    """Mean KL(mean answer ‖ answer of each version) of ``(versions, rows, classes)``."""
    log_each = F.log_softmax(logits, dim=-1)
    mean = log_each.exp().mean(dim=0, keepdim=True)
    return (mean * (mean.clamp_min(1e-20).log() - log_each)).sum(dim=-1).mean()
