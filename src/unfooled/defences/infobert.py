"""InfoBERT: information bottleneck and anchored features (Wang, Wang, Cheng, Gan, Jia, Li, Liu; ICLR 2021).

    task loss + β·mean ½‖t_i − t_j‖² − α·I(anchored t; z)

t is the output of the embedding layer, positions and LayerNorm included; z the token of the last layer that
the head reads ([CLS]). The first term draws the features of all tokens of a batch together, so that less of
the input gets through (Eq. 4, 11). The second makes z say more about the *anchored* words (Eq. 10): those
whose gradient is neither among the smallest (of no use) nor among the largest (easily attacked), by rank
(Algorithm 1). With ``freelb``, both are part of each of its K passes and count 1/K; its adversary raises task
loss and bottleneck.

Deviations. Both terms are means, as in the authors' code, and the weights are theirs. Eq. 6 sums over the n
tokens of a text and multiplies by n once more, so β is n² times the β of Eq. 6; Eq. 9 sums over M anchored
features, so α is M times its α. Their code ranks special tokens too, by the gradient of task loss and
bottleneck at each point of FreeLB, and takes anchored features of the batch for negatives. Here the paper's
way is the default and theirs a setting. With FreeLB, the clean gradient comes from a pass of its own, without
dropout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from unfooled.defences.parts.base import NO_WORDS, evaluating
from unfooled.defences.parts.mutual_information import Critic, across_batch, spread, within_input
from unfooled.defences.session import Pass, Session, Step, Training
from unfooled.errors import UsageError
from unfooled.models import Batch, Model, as_text
from unfooled.models.attention_dropout import attentions, set_attention_dropout
from unfooled.predictors import Plain, Predictor
from unfooled.predictors.anchored import FROM, TO
from unfooled.predictors.saliency import between_ranks
from unfooled.settings import setting

TEXTS: dict[str, Any] = {"beta": 5e-3, "anchored_from": FROM, "anchored_to": TO}
QUESTIONS: dict[str, Any] = {"beta": 5e-5, "anchored_from": 0.75, "anchored_to": 0.95}
"""What the authors set for NLI and for SQuAD (§5, and their code for β)."""


@dataclass(frozen=True)
class InfoBert:
    """Plain fine-tuning with a bottleneck and anchored features."""

    name: ClassVar[str] = "infobert"
    summary: ClassVar[str] = "Information bottleneck and anchored features (InfoBERT, Wang et al. 2021)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ()
    refuses: ClassVar[dict[str, str]] = {"image": NO_WORDS}
    deployed_as: ClassVar[str] = "plain"
    weights: ClassVar[tuple[str, ...]] = ("alpha", "beta")

    alpha: float = setting(5e-3, "Weight of the anchored features (α)", at_least=0)
    beta: float | None = setting(
        None,
        "Weight of the bottleneck (β of the code); 5e-3 if not given, of questions 5e-5",
        at_least=0,
    )
    ib_only: bool = setting(False, "Train with the bottleneck only: alpha is taken as 0")
    anchored_only: bool = setting(False, "Train with the anchored features only: beta is taken as 0")
    anchored_from: float | None = setting(
        None,
        "Anchored are gradient ranks from this share of the words (c_l); 0.5 if not given, questions 0.75 …",
        at_least=0,
        at_most=1,
    )
    anchored_to: float | None = setting(
        None, "… up to this one (c_h), 0.9 if not given, of questions 0.95", at_least=0, at_most=1
    )
    include_special: bool = setting(False, "Rank [CLS] and [SEP] as well (the authors' code)")
    gradient: Literal["clean", "each-point"] = setting(
        "clean",
        "Ranked by the gradient of: clean, task loss at the clean input (paper); each-point, task loss and "
        "bottleneck at each point of FreeLB (code)",
    )
    negatives: Literal["same-input", "batch"] = setting(
        "same-input", "Negatives: same-input, its other words (paper); batch, anchored words of others (code)"
    )
    attention_dropout: float | None = setting(
        0.0, "Dropout of attention weights in training; null: the encoder's own", at_least=0, at_most=0.99
    )

    def __post_init__(self) -> None:
        if self.ib_only and self.anchored_only:
            raise UsageError(
                "defence 'infobert': ib_only and anchored_only leave out each other's term, and nothing is "
                "left. Choose one; --defence standard trains without both."
            )
        low, high = self.anchored_from, self.anchored_to
        if low is None or high is None:
            return  # asked again when they are known
        if low >= high:
            raise UsageError(
                f"defence 'infobert': anchored_from ({low:g}) must be below anchored_to ({high:g}). The "
                f"paper has {FROM} and {TO}."
            )
        anchored = self.alpha and not self.ib_only
        if anchored and self.negatives == "same-input" and (low, high) == (0, 1):
            raise UsageError(
                "defence 'infobert': anchored_from=0 and anchored_to=1 anchor all words and leave none for "
                "negatives. Narrow them, or choose negatives=batch."
            )

    def resolved(self, model: Model) -> InfoBert:
        text = as_text(model)
        if self.attention_dropout is not None:
            attentions(text.module)
        defaults = QUESTIONS if model.kind == "question" else TEXTS
        missing = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        if self.ib_only:
            missing["alpha"] = 0.0
        if self.anchored_only:
            missing["beta"] = 0.0
        return replace(self, **missing)

    def begin(self, training: Training) -> InfoBertSession:
        return InfoBertSession(training, self)

    def predictor(self, model: Model) -> Predictor:
        return Plain()


class InfoBertSession(Session[InfoBert]):
    """The bottleneck is a penalty, which FreeLB's adversary raises; the anchored features are a term."""

    hidden_states = True
    in_every_pass = True

    def __init__(self, training: Training, defence: InfoBert) -> None:
        super().__init__(training, defence)
        module = as_text(self.model).module
        if defence.attention_dropout is not None:
            set_attention_dropout(module, defence.attention_dropout)
        if defence.alpha:
            self.critic = Critic(int(module.config.hidden_size)).to(self.model.device)
            self.modules = {"critic": self.critic}
        self._clean: tuple[Step, Batch, Tensor] | None = None

    def penalty(self, seen: Pass, step: Step) -> Tensor | None:
        if not self.defence.beta:
            return None
        assert seen.forward.features is not None
        return self.defence.beta * spread(seen.forward.features, seen.batch.mask)

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        own, batch = self.defence, seen.batch
        if not own.alpha:
            return None
        features, sentences = seen.forward.features, seen.forward.summary
        assert features is not None and sentences is not None
        words = batch.mask.bool() if own.include_special else batch.words
        gradient = seen.gradient if own.gradient == "each-point" else self._clean_gradient(seen, step)
        assert own.anchored_from is not None and own.anchored_to is not None
        anchored = between_ranks(gradient, words, own.anchored_from, own.anchored_to)
        if own.negatives == "batch":
            estimate = across_batch(self.critic, features, sentences, anchored, chunk=len(batch))
        else:
            estimate = within_input(self.critic, features, sentences, anchored, words & ~anchored)
        return -own.alpha * estimate

    def _clean_gradient(self, seen: Pass, step: Step) -> Tensor:
        """Of the task loss at the clean input; at other points of a step, that of a pass made for it once."""
        batch = seen.batch
        if torch.equal(seen.start, self.model.start(batch)):
            return seen.task_gradient
        if self._clean is None or self._clean[0] is not step or self._clean[1] is not batch:
            with evaluating(self.model):
                gradient, _ = self.model.gradient(batch, batch.labels)
            self._clean = step, batch, gradient
        return self._clean[2]
