"""Mixup: trained on points between two examples, with labels in proportion (Zhang, Cisse, Dauphin, Lopez-Paz;
ICLR 2018). With adversarial examples in the training data it is MixADA (Si et al. 2021, Findings of ACL):
``advaug+mixup``, or ``a2t+mixup`` with examples made anew in every epoch.

    CE(f(x), y) + γ·(λ·CE(f(x̃), y) + (1 − λ)·CE(f(x̃), y′)),   x̃ = λ·x + (1 − λ)·x′,   λ ~ Beta(α, α)

One λ per batch, and x′ from the same batch, shuffled. Mixed is what the head reads of the last layer, [CLS]
(``sentence``; SMix of Si et al.), which takes no second pass through most encoders, or the word embeddings or
pixels that the model starts from, which does.

Deviations. Si et al. also mix the states of all tokens after block 7 or 9 of 12 (TMix), which is not offered.
Their code masks the second text by the padding of the first; here a mixed text is as long as the longer one,
and is split into first and second text as that one is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from unfooled.defences.session import Pass, Session, Step, Training
from unfooled.errors import UsageError
from unfooled.models import Batch, Model, Site, as_text
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting


@dataclass(frozen=True)
class Mixup:
    """Plain fine-tuning, and the same on mixtures of two examples."""

    name: ClassVar[str] = "mixup"
    summary: ClassVar[str] = "Trained between examples too (Zhang et al. 2018); advaug+mixup is MixADA"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[dict[str, str]] = {"question": "places of two answers cannot be mixed"}
    deployed_as: ClassVar[str] = "plain"
    weights: ClassVar[tuple[str, ...]] = ("weight",)

    weight: float = setting(1.0, "Weight of the loss on mixtures (γ)", at_least=0)
    alpha: float = setting(0.4, "The share λ is drawn from Beta(α, α)", at_least=0.01)
    place: Literal["sentence", "start"] | None = setting(
        None,
        "What is mixed: sentence, what the head reads of the last layer; start, word embeddings or pixels. "
        "If not given, sentence where the head reads the first token, else start",
    )

    def resolved(self, model: Model) -> Mixup:
        first = model.kind == "text" and as_text(model).architecture.summary == "first"
        if self.place == "sentence" and not first:
            raise UsageError(
                "defence 'mixup': place=sentence mixes the first token of the last layer, and the head of "
                "this model reads something else. Choose place=start."
            )
        return replace(self, place=self.place or ("sentence" if first else "start"))

    def begin(self, training: Training) -> MixupSession:
        return MixupSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()


@dataclass(frozen=True)
class _Blend:
    """Adds to each row what makes it λ·itself + (1 − λ)·its partner: the noise of a forward pass."""

    partners: Tensor
    share: Tensor

    def __call__(self, site: Site, hidden: Tensor, mask: Tensor | None) -> Tensor:
        return (1 - self.share).to(hidden.dtype) * (hidden[self.partners] - hidden)


class MixupSession(Session[Mixup]):
    """Plain fine-tuning, and the loss on mixtures of the rows of a batch."""

    def __init__(self, training: Training, defence: Mixup) -> None:
        super().__init__(training, defence)
        self.hidden_states = defence.place == "sentence"

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        own, labels = self.defence, seen.batch.labels
        if own.weight == 0:
            return None
        share = torch.distributions.Beta(own.alpha, own.alpha).sample().to(seen.start.device)
        partners = torch.randperm(len(seen.batch), device=seen.start.device)
        logits = self._mixed(seen, partners, share)
        mixed = share * F.cross_entropy(logits, labels) + (1 - share) * F.cross_entropy(
            logits, labels[partners]
        )
        return own.weight * mixed

    def _mixed(self, seen: Pass, partners: Tensor, share: Tensor) -> Tensor:
        """Logits of λ·each row + (1 − λ)·its partner."""
        blend = _Blend(partners, share)
        if self.defence.place == "sentence":
            model, ended = as_text(self.model), seen.forward.ended
            noise: Any = {"sampler": blend, "sites": (model.depth - 1,)}
            if ended is None:
                return model.forward(seen.batch, start=seen.start, **noise).logits
            return model.after(seen.batch, ended, copies=range(len(partners)), **noise).logits
        mixed = seen.start + blend("embeddings", seen.start, None)
        return self.model.forward(_longer(seen.batch, partners), start=mixed).logits


def _longer(batch: Any, partners: Tensor) -> Any:
    """Of each row and its partner the longer one: its ids say how far the mixture of embeddings goes."""
    if not isinstance(batch, Batch):
        return batch
    lengths = batch.mask.sum(dim=1)
    own = torch.arange(len(batch), device=lengths.device)
    return batch.rows(torch.where(lengths[partners] > lengths, partners, own))
