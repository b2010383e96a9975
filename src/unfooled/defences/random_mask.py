"""Random word masking in training (RanMASK; Zeng, Zheng, Xu, Li, Yuan, Huang; 2021).

At every step each text shows as many of its words as the predictor will show, drawn anew; every other word
is one mask token. The inputs are put together by the predictor's own code, so that what is trained on is what
is deployed: the vote ``random-mask``.

Deviations. Several versions of a text per step (``draws``), and the consistency of their answers as a part
of the loss (:mod:`.versions`), are ours.

Of a question the words of the context are hidden. Its answer is a place, and is trained whether its words are
shown or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import torch

from unfooled.defences.parts.base import NO_WORDS
from unfooled.defences.parts.question_copies import AskedPart, TokenSpan, no_comparison
from unfooled.defences.parts.versions import Versions
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.models import Batch, Encoded, Model, QaModel, Window, as_text
from unfooled.predictors import RandomWordMask
from unfooled.predictors.smoothing import WordAssembler
from unfooled.predictors.smoothing.masked_contexts import ContextMasker
from unfooled.predictors.smoothing.word_masking import HIDDEN_HELP, Hidden
from unfooled.settings import MOST_VOTES, setting


@dataclass(frozen=True)
class RandomMask(Versions):
    """Trained and deployed on few words of each text."""

    name: ClassVar[str] = "random-mask"
    summary: ClassVar[str] = "Trained on few random words of each text; certifiable vote (Zeng et al. 2021)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("words",)
    refuses: ClassVar[dict[str, str]] = {"image": NO_WORDS}
    deployed_as: ClassVar[str] = "random-mask"

    kept: float = setting(
        0.3, "Words shown: a share of them (below 1) or their number (1 or more)", at_least=0
    )
    hidden: Hidden = setting("mask-token", HIDDEN_HELP)
    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> RandomMask:
        self.predictor(as_text(model)).check(model)
        self.check_versions()
        no_comparison(model, consistency=self.consistency, entropy=self.entropy)
        return self

    def begin(self, training: Training) -> RandomMaskSession:
        return RandomMaskSession(training, self)

    def versions(self, model: Model, batch: Batch) -> list[Encoded]:
        """Every version of the texts, one version after another, with all but a few words hidden."""
        assembler = WordAssembler(as_text(model))
        predictor = self.predictor(model)
        shown = []
        for words in assembler.read([item.texts for item in batch.encoded]) * self.draws:
            order = torch.randperm(len(words)).tolist()
            kept = set(order[: predictor.kept_words(len(words))])
            shown.append(assembler.shown(words, kept, dropped=self.hidden == "dropped"))
        return shown

    def predictor(self, model: Model) -> RandomWordMask:
        return RandomWordMask(kept=self.kept, hidden=self.hidden, votes=self.votes)


class RandomMaskSession(Session[RandomMask]):
    """Cross-entropy on texts with few words shown, and the consistency of the answers to them."""

    def loss(self, batch: Batch, step: Step) -> Losses:
        if isinstance(self.model, QaModel):
            return self._of_questions(self.model, batch)
        versions = self.defence.versions(self.model, batch)
        return self.defence.losses(self.defence.answers(self.model, versions), batch.labels)

    def _of_questions(self, model: QaModel, batch: Batch) -> Losses:
        assert batch.labels is not None
        parts = [
            AskedPart.of(cast(Window, item), label)
            for item, label in zip(batch.encoded, batch.labels.tolist(), strict=True)
        ]
        predictor = self.defence.predictor(model)
        contexts = ContextMasker(model).read([(part.question, part.context) for part in parts])
        windows: list[Window] = []
        labels: list[TokenSpan] = []
        for part, context in zip(parts * self.defence.draws, contexts * self.defence.draws, strict=True):
            order = torch.randperm(len(context)).tolist()
            window = context.shown(set(order[: predictor.kept_words(len(context))]))
            windows.append(window)
            labels.append(context.tokens_of(window, part.gold) or (window.null, window.null))
        versions = model.batch(windows, labels)
        return Losses(self.task_loss(model.forward(versions).logits, versions))
