"""``QaModel``: any Hugging Face model that answers questions by a span of their context.

>>> model = QaModel(module, tokenizer, max_length=384)
>>> (item,) = model.read([("Who won?", "The Broncos won.")])
>>> model.forward(model.batch(item.windows)).logits.shape         # (windows, 2, tokens): start and end
torch.Size([1, 2, 12])

It is a model of texts with another head. An input has as many rows as windows (``parts``); its possible
answers are the spans that some pass finds (``compared``). Noise and masks are for the context: the question
is the user's, and nobody tampers with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from unfooled.errors import UsageError
from unfooled.files import JsonObject
from unfooled.hub.batches import pad
from unfooled.models.encoding import Batch, collate, refusal
from unfooled.models.model import Compared, EncodedInput, Model, Unreadable
from unfooled.models.spans import NO_SPAN, SHUT, SpanScores, best_spans, compared_spans
from unfooled.models.text import TextModel
from unfooled.models.windows import CONTEXT, AnswerSpan, EncodedQuestion, Window, encode_questions

STRIDE = 128
LONGEST_ANSWER = 30
SHORTEST = 16
"""Tokens of a window: question, context and special tokens must have room."""


class QaModel(TextModel):
    """A model with start and end logits, and its tokenizer.

    ``unanswerable``: it was trained on questions without an answer, too, and may give none.
    """

    kind: ClassVar[str] = "question"

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_length: int = 384,
        stride: int = STRIDE,
        longest_answer: int = LONGEST_ANSWER,
        unanswerable: bool = False,
        bf16: bool = False,
    ) -> None:
        super().__init__(model, tokenizer, max_length=max_length, bf16=bf16)
        if self.max_length < SHORTEST:
            raise UsageError(f"max_length is {self.max_length}; questions with contexts need {SHORTEST}.")
        self.stride = stride
        self.longest_answer = longest_answer
        self.unanswerable = unanswerable

    @property
    def num_labels(self) -> int:
        """None that are fixed: each input has answers of its own."""
        return 0

    def inputs(self, first: Sequence[str], second: Sequence[str] | None = None) -> list[tuple[str, ...]]:
        if second is None:
            raise UsageError("This model answers questions: give their contexts too, as pairs=[…].")
        return super().inputs(first, second)

    def read(self, inputs: Sequence[Any]) -> list[Any]:
        """Questions with their contexts; one that has nothing to read is refused."""
        found: list[Any] = [Unreadable(_refusal(own)) for own in inputs]
        places = [place for place, one in enumerate(found) if not one.reason]
        for place, item in zip(places, self.windows([inputs[place] for place in places]), strict=True):
            if not any(any(window.maskable) for window in item.windows):
                found[place] = Unreadable("the context has nothing to read")
            elif not any(item.windows[0].asked):
                found[place] = Unreadable("the question has nothing to read")
            else:
                found[place] = item
        return found

    def windows(self, texts: Sequence[tuple[str, str]]) -> list[EncodedQuestion]:
        """(question, context) of each input, as the model reads them."""
        if not texts:
            return []
        return encode_questions(self.tokenizer, texts, max_length=self.max_length, stride=self.stride)

    def parts(self, item: EncodedInput) -> Sequence[Window]:
        return item.windows if isinstance(item, EncodedQuestion) else [cast(Window, item)]

    def readings(self, items: Sequence[Any], logits: Tensor) -> list[SpanScores]:
        return best_spans(items, logits, longest=self.longest_answer)

    def compared(self, item: EncodedInput, passes: Sequence[Sequence[Any]]) -> Compared:
        return compared_spans(passes, unanswerable=self.unanswerable)

    def decisive(self, items: Sequence[Any], logits: Tensor) -> Tensor:
        """Start and end where they are open; their mean fills the rest, which leaves their spread alone."""
        found = []
        for item, own in zip(items, logits, strict=True):
            at = [place for place, word in enumerate(item.maskable) if word or place == item.null]
            scores = own[:, at].flatten()
            found.append(torch.cat([scores, scores.mean().expand(2 * self.max_length - len(scores))]))
        return torch.stack(found)

    def answer_texts(self, item: EncodedInput, answers: Sequence[AnswerSpan]) -> list[str]:
        """The text of each span of the context; no answer is the empty text."""
        context = cast(EncodedQuestion, item).texts[CONTEXT]
        return ["" if span == NO_SPAN else context[span[0] : span[1]] for span in answers]

    def batch(self, encoded: Sequence[Any], labels: Sequence[Any] | None = None) -> Batch:
        """Windows, with the first and the last token of each answer as labels."""
        rows: Sequence[Window] = encoded
        made = collate(rows, pad_id=self.tokenizer.pad_token_id, labels=labels)
        asked = pad([row.asked for row in rows], False).bool()
        null = torch.tensor([row.null for row in rows], dtype=torch.long)
        return replace(made, asked=asked, null=null).to(self.device)

    def coordinates(self, item: Any) -> int:
        return sum(super(QaModel, self).coordinates(window) for window in self.parts(item))

    def _logits(self, output: Any, batch: Batch, copies: Tensor | None) -> Tensor:
        """Start and end, ``(rows, 2, tokens)``: shut but at the context and at what stands for no answer."""
        assert batch.null is not None
        both = torch.stack([output.start_logits, output.end_logits], dim=1).float()
        is_open = batch.maskable.clone()
        is_open[torch.arange(len(is_open), device=is_open.device), batch.null] = True
        if copies is not None:
            is_open = is_open[copies]
        return both.masked_fill(~is_open.unsqueeze(1), SHUT)

    def identity(self) -> JsonObject:
        return {
            **super().identity(),
            "reads": "questions",
            "stride": self.stride,
            "longest_answer": self.longest_answer,
            "unanswerable": self.unanswerable,
        }


def as_questions(model: Model) -> QaModel:
    """The model as one that answers questions; others are refused."""
    if not isinstance(model, QaModel):
        raise UsageError(f"This needs a model that answers questions, and {type(model).__name__} is none.")
    return model


def _refusal(texts: Sequence[str]) -> str:
    question, context = texts
    return refusal([question]).replace("text", "question") or refusal([context]).replace("text", "context")
