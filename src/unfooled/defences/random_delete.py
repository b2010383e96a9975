"""Random deletion in training (RS-Del, Huang et al. 2023; CERT-ED, Huang et al. 2024).

At every step each word of a text is deleted with the rate of the predictor, anew; what is left is the input,
put together by the predictor's own code. A step costs as many tokens as words were kept, so that ``draws``
versions of each text per step are cheap. Deployed with the vote ``random-delete``.

Deviations. The papers train on one version per step; here several, and the consistency of their answers may
be part of the loss (:mod:`.versions`). The rate may rise over the first part of training (``warmup``).

Of a question the words of the context are deleted, as the vote deletes them. Where a word of the answer goes,
a model that may give no answer is trained to give none. A model that must answer keeps the answer's words in
training: draws without them cannot vote for it anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import torch

from unfooled.defences.parts.base import NO_WORDS
from unfooled.defences.parts.question_copies import AskedPart, ReadsQuestions, no_comparison
from unfooled.defences.parts.scale import risen
from unfooled.defences.parts.versions import MOST_VERSIONS, Versions
from unfooled.defences.session import Losses, Session, Step, Training
from unfooled.models import Batch, Model, QaModel, Window, as_text
from unfooled.models.windows import CONTEXT
from unfooled.predictors.smoothing import RandomWordDelete, WordAssembler
from unfooled.settings import MOST_VOTES, setting
from unfooled.words.alignment import Aligned, left_words, spaced_words

TEXT_RATES, QUESTION_RATES = (0.9,), (0.3,)
"""An answer that stands once in its context is gone as often as any of its words is deleted."""


@dataclass(frozen=True)
class RandomDelete(Versions):
    """Trained and deployed on random subsequences of each text's words."""

    name: ClassVar[str] = "random-delete"
    summary: ClassVar[str] = (
        "Trained on what random deletion leaves; certifiable against edits (Huang et al.)"
    )
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("edits", "words")
    refuses: ClassVar[dict[str, str]] = {"image": NO_WORDS}
    deployed_as: ClassVar[str] = "random-delete"

    rates: tuple[float, ...] | None = setting(
        None,
        "Share of words deleted (p): one rate, or one per length bin; 0.9 if not given, questions 0.3",
    )
    bins: tuple[int, ...] = setting((), "Largest number of words of each length bin but the last")
    draws: int = setting(2, "Versions of each text per step (m)", at_least=1, at_most=MOST_VERSIONS)
    warmup: float = setting(
        0.0, "Share of training over which the deletion rate rises from nothing", at_least=0, at_most=1
    )
    votes: int = setting(100, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> RandomDelete:
        predictor = self.predictor(as_text(model))
        predictor.check(model)
        self.check_versions()
        no_comparison(model, consistency=self.consistency, entropy=self.entropy)
        return replace(self, rates=predictor.rates)

    def begin(self, training: Training) -> RandomDeleteSession:
        return RandomDeleteSession(training, self)

    def predictor(self, model: Model) -> RandomWordDelete:
        rates = self.rates or (QUESTION_RATES if model.kind == "question" else TEXT_RATES)
        return RandomWordDelete(rates=rates, bins=self.bins, votes=self.votes)


class RandomDeleteSession(Session[RandomDelete]):
    """Cross-entropy on what is left of each text, and the consistency of the answers to it."""

    def __init__(self, training: Training, defence: RandomDelete) -> None:
        super().__init__(training, defence)
        self._assembler = WordAssembler(as_text(self.model))
        self._predictor = defence.predictor(self.model)

    def loss(self, batch: Batch, step: Step) -> Losses:
        settings, share = self.defence, risen(step, self.defence.warmup)
        if isinstance(self.model, QaModel):
            return self._of_questions(self.model, batch, share)
        versions = [
            self._assembler.left(words, (torch.rand(total) >= share * self._predictor.rate(total)).tolist())
            for _ in range(settings.draws)
            for words in self._assembler.read_all([item.texts for item in batch.encoded])
            for total in (sum(map(len, words)),)
        ]
        return settings.losses(settings.answers(self.model, versions), batch.labels)

    def _of_questions(self, model: QaModel, batch: Batch, share: float) -> Losses:
        assert batch.labels is not None
        reads = ReadsQuestions(model.tokenizer, model.max_length, model.stride)
        rows = [
            (AskedPart.of(cast(Window, item), label), self._predictor.rate(len(item.texts[CONTEXT].split())))
            for item, label in zip(batch.encoded, batch.labels.tolist(), strict=True)
        ]
        made = [self._left(part, share * rate) for _ in range(self.defence.draws) for part, rate in rows]
        windows, labels = zip(*reads.copies(made), strict=True)
        versions = model.batch(windows, labels)
        return Losses(self.task_loss(model.forward(versions).logits, versions))

    def _left(self, part: AskedPart, rate: float) -> tuple[AskedPart, Aligned, bool]:
        """What deletion leaves of a context, and whether the whole answer is left."""
        places = spaced_words(part.context)
        kept = (torch.rand(len(places)) >= rate).tolist()
        gold = [part.touches(place) for place in places]
        if not cast(QaModel, self.model).unanswerable:
            kept = [stays or own for stays, own in zip(kept, gold, strict=True)]
        if not any(kept):  # nothing to read: the whole context instead
            kept = [True] * len(places)
        there = all(stays for stays, own in zip(kept, gold, strict=True) if own)
        return part, left_words(part.context, kept), there
