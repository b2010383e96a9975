"""Copies of training questions with other contexts: what a window reads, changed, and where its answer is.

A training example of questions is a window and the first and last token of its answer. A copy is made of the
part of the context that the window reads; the answer is followed character by character, so its tokens are
exact for every tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unfooled.errors import UsageError
from unfooled.models import Model, Window
from unfooled.models.windows import CONTEXT, QUESTION, encode_questions
from unfooled.words.alignment import Aligned, CharacterSpan

TokenSpan = tuple[int, int]
"""The first and the last token of an answer; twice the one that stands for no answer."""


@dataclass(frozen=True)
class AskedPart:
    """The question and the part of its context that a window reads."""

    question: str
    context: str
    gold: CharacterSpan | None
    """The characters of the answer in this part; None if it holds none."""

    @classmethod
    def of(cls, window: Window, label: Sequence[int]) -> AskedPart:
        """What the window reads; ``label`` are the tokens of the answer."""
        read = [
            (start, end)
            for (_, start, end), word in zip(window.offsets, window.maskable, strict=True)
            if word and end > start
        ]
        first, last = min((start for start, _ in read), default=0), max((end for _, end in read), default=0)
        begin, end = int(label[0]), int(label[1])
        gold = None
        if window.null not in (begin, end):
            start, stop = window.span(begin, end)
            gold = max(0, start - first), min(stop, last) - first
        return cls(window.texts[QUESTION], window.texts[CONTEXT][first:last], gold)

    def touches(self, span: CharacterSpan) -> bool:
        """Whether a stretch of the part holds a character of the answer."""
        return self.gold is not None and span[1] > self.gold[0] and span[0] < self.gold[1]


@dataclass(frozen=True)
class ReadsQuestions:
    """How windows are made, in processes of the data loader too."""

    tokenizer: Any
    max_length: int
    stride: int

    def copies(self, made: Sequence[tuple[AskedPart, Aligned, bool]]) -> list[tuple[Window, TokenSpan]]:
        """Each part with the context that was made of it, and whether its answer is still there.

        A copy that is longer than a window is read where its answer is.
        """
        texts = [(part.question, context.text) for part, context, _ in made]
        found = []
        for (part, context, there), item in zip(
            made,
            encode_questions(self.tokenizer, texts, max_length=self.max_length, stride=self.stride),
            strict=True,
        ):
            gold = context.made(part.gold) if part.gold is not None and there else None
            tokens = [None if gold is None else window.covering(gold) for window in item.windows]
            place = next((number for number, own in enumerate(tokens) if own), 0)
            window = item.windows[place]
            found.append((window, tokens[place] or (window.null, window.null)))
        return found


def no_comparison(model: Model, **weights: float) -> None:
    """Refuse terms that compare the answers to several versions of a question."""
    if model.kind == "question" and (given := [name for name, weight in weights.items() if weight]):
        raise UsageError(
            f"{' and '.join(given)}: versions of a context have different tokens, so answers to them are not "
            "compared. Leave it out for questions."
        )
