"""SAFER's training: every word is redrawn from its substitution set (Ye, Gong, Liu; ACL 2020).

In every epoch each word of each text is redrawn, uniformly and on its own, from the same set that the vote
``safer`` redraws it from: itself and its substitutes, or the whole component of synonyms. The data loader
redraws (:meth:`Session.copies`), by (seed, epoch, number of the example), so that the lengths of the redrawn
texts are known beforehand: batches are put together by them.

Of a question the words of the context are redrawn, but for those of the answer that is trained. The deployed
vote does not know the answer: it redraws every word and counts places.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from unfooled.data import TaskData
from unfooled.defences.parts.base import NO_WORDS, remade
from unfooled.defences.parts.question_copies import AskedPart, ReadsQuestions, TokenSpan
from unfooled.defences.parts.synonym_words import check_synonyms
from unfooled.defences.session import (
    Losses,
    Session,
    Step,
    Training,
    TrainingData,
    TrainingExample,
)
from unfooled.models import Batch, Encoded, Model, QaModel, Window, as_text, as_texts, mix
from unfooled.models.encoding import encode_inputs
from unfooled.predictors import SynonymVote
from unfooled.predictors.smoothing import SubstitutionSets, resampled
from unfooled.settings import MOST_VOTES, setting
from unfooled.words.alignment import Aligned, rewritten
from unfooled.words.word import WORD

AT_ONCE = 1000
"""Texts that are redrawn together to learn their lengths."""


@dataclass(frozen=True)
class Safer(SubstitutionSets):
    """Trained and deployed on texts whose words were redrawn."""

    name: ClassVar[str] = "safer"
    summary: ClassVar[str] = "Every word redrawn from its synonyms; certifiable vote (SAFER, Ye et al. 2020)"
    learning_rate: ClassVar[float] = 1e-4
    certifies: ClassVar[tuple[str, ...]] = ("synonyms",)
    refuses: ClassVar[dict[str, str]] = {"image": NO_WORDS}
    deployed_as: ClassVar[str] = "safer"

    votes: int = setting(20, "Votes of a prediction (k)", at_least=1, at_most=MOST_VOTES)

    def resolved(self, model: Model) -> Safer:
        as_text(model)  # other models are refused
        self.substitutes()  # made or read now, so that a bad table is refused early
        return self

    def check_data(self, data: TaskData) -> None:
        check_synonyms(self.name, self, data)

    def begin(self, training: Training) -> SaferSession:
        return SaferSession(training, self)

    def predictor(self, model: Model) -> SynonymVote:
        return SynonymVote(**vars(self))


@dataclass(frozen=True)
class Redraw:
    """Redraws the words of the examples of one epoch."""

    key: tuple[int, int]
    """The seed and the epoch."""
    sets: SubstitutionSets
    tokenizer: Any
    max_length: int

    def __call__(self, examples: Sequence[TrainingExample]) -> list[Encoded]:
        table, texts = self.sets.substitutes(), []
        for example, item in zip(examples, as_texts([one.encoded for one in examples]), strict=True):
            choose = random.Random(mix(*self.key, example.number)).randrange
            texts.append(tuple(resampled(text, table, choose) for text in item.texts))
        return encode_inputs(self.tokenizer, texts, max_length=self.max_length)


@dataclass(frozen=True)
class RedrawContexts:
    """Redraws the words of contexts, those of the answers excepted."""

    key: tuple[int, int]
    """The seed and the epoch."""
    sets: SubstitutionSets
    reads: ReadsQuestions

    def __call__(self, examples: Sequence[TrainingExample]) -> list[tuple[Window, TokenSpan]]:
        return self.reads.copies([self._redrawn(example) for example in examples])

    def _redrawn(self, example: TrainingExample) -> tuple[AskedPart, Aligned, bool]:
        part = AskedPart.of(cast(Window, example.encoded), example.label)
        table, chance = self.sets.substitutes(), random.Random(mix(*self.key, example.number))
        places = [match.span() for match in WORD.finditer(part.context)]

        def write(number: int, word: str) -> str | None:
            options = table.sampled(word)
            stays = len(options) == 1 or part.touches(places[number])
            return None if stays else options[chance.randrange(len(options))]

        return part, rewritten(part.context, write), True


class SaferSession(Session[Safer]):
    """Cross-entropy on texts whose words were redrawn."""

    def copies(self, epoch: int, data: TrainingData) -> Redraw | RedrawContexts:
        model = as_text(self.model)
        if isinstance(model, QaModel):
            reads = ReadsQuestions(model.tokenizer, model.max_length, model.stride)
            return RedrawContexts((self.training.seed, epoch), self.defence, reads)
        return Redraw((self.training.seed, epoch), self.defence, model.tokenizer, model.max_length)

    def lengths(self, epoch: int, data: TrainingData) -> list[int]:
        redraw = self.copies(epoch, data)
        rows = zip(data.encoded, data.labels, strict=True)
        examples = [TrainingExample(number, *row) for number, row in enumerate(rows)]
        parts = (examples[at : at + AT_ONCE] for at in range(0, len(examples), AT_ONCE))
        made = [item for part in parts for item in redraw(part)]
        return [len(item[0] if isinstance(item, tuple) else item) for item in made]

    def loss(self, batch: Batch, step: Step) -> Losses:
        copies = self.copied(step)
        if self.model.kind == "question":
            batch = self.model.batch([window for window, _ in copies], [tokens for _, tokens in copies])
            return Losses(self.task_loss(self.model.forward(batch).logits, batch))
        redrawn = remade(self.model, batch, copies)
        return Losses(self.task_loss(self.model.forward(redrawn).logits, batch))
