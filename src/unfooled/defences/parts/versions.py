"""Several random versions of each text in one step, and the consistency between the answers to them.

Certificates live on votes that agree. With m versions of a text, F_i the answer (softmax) to version i and F
their mean, a step's loss is (Jeong and Shin 2020, «Consistency regularization for certified robustness of
smoothed classifiers»)

    mean CE(F_i, y) + λ·mean KL(F ‖ F_i) + η·H(F).

The authors' noise is Gaussian, on images, with m = 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from unfooled.defences.parts.divergence import kl
from unfooled.defences.session import Losses
from unfooled.errors import UsageError
from unfooled.hub.batches import length_sorted_chunks
from unfooled.models import Encoded, Model
from unfooled.settings import setting

MOST_VERSIONS = 1000


@dataclass(frozen=True)
class Versions:
    """Settings of a defence that trains on several versions of each text."""

    draws: int = setting(1, "Versions of each text per step (m)", at_least=1, at_most=MOST_VERSIONS)
    consistency: float = setting(
        0.0, "Weight of the divergence between the versions' answers (λ)", at_least=0
    )
    entropy: float = setting(0.0, "Weight of the entropy of their mean answer (η)", at_least=0)

    def check_versions(self) -> None:
        """Refuse a consistency of one version."""
        if self.consistency and self.draws < 2:
            raise UsageError("consistency compares versions of a text: give draws=2 or more.")

    def answers(self, model: Model, versions: Sequence[Encoded]) -> Tensor:
        """Logits ``(versions, rows, classes)`` of ``draws`` versions of each row, one version after another.

        Versions differ much in length where few words are left: short ones are not padded to long ones.
        """
        lengths, most = [len(item) for item in versions], model.batch_size
        few = len(lengths) * max(lengths) <= most
        chunks = [list(range(len(lengths)))] if few else list(length_sorted_chunks(lengths, most))
        logits = torch.cat(
            [model.forward(model.batch([versions[row] for row in chunk])).logits for chunk in chunks]
        )
        order = torch.tensor([row for chunk in chunks for row in chunk], device=logits.device)
        return logits[order.argsort()].view(self.draws, len(versions) // self.draws, -1)

    def losses(self, logits: Tensor, labels: Tensor | None) -> Losses:
        """The loss of a step; ``logits`` are those of every version, ``(versions, rows, classes)``."""
        assert labels is not None
        task = F.cross_entropy(logits.flatten(0, 1), labels.repeat(len(logits)))
        if not (self.consistency or self.entropy):
            return Losses(task)
        extra = self.consistency * divergence(logits) + self.entropy * entropy_of_mean(logits)
        return Losses(task, extra)


def divergence(logits: Tensor) -> Tensor:
    """Mean KL(mean answer ‖ answer to each version) of ``(versions, rows, classes)``."""
    return kl(_log_mean(F.log_softmax(logits, dim=-1)), logits)


def entropy_of_mean(logits: Tensor) -> Tensor:
    """Mean over the rows of the entropy of their mean answer, ``(versions, rows, classes)``."""
    log_mean = _log_mean(F.log_softmax(logits, dim=-1))
    return -(log_mean.exp() * log_mean).sum(dim=-1).mean()


def _log_mean(log_each: Tensor) -> Tensor:
    return torch.logsumexp(log_each, dim=0) - torch.tensor(float(len(log_each))).log()
