"""Contexts of questions that show k random words, each other word one mask token in its place.

Words keep their places, so an answer is a place: from which word to which word of the context, shown or
hidden. A model may well know where the answer stands without seeing it («the [MASK] won»). What the model
reads, and the place it names, are a function of the question, of which words are shown, and of those words:
hidden words leave no trace. As for texts, the first words of a long context are taken, as many as one window
would hold if each had one token.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from unfooled.models import EncodedInput, QaModel, Window
from unfooled.models.spans import NO_SPAN
from unfooled.models.windows import CONTEXT, AnswerSpan
from unfooled.predictors.smoothing.answer_votes import ContextDraw, VotedAnswer
from unfooled.predictors.smoothing.drawn_contexts import questions_of
from unfooled.predictors.smoothing.word_tokens import Tokens, WordAssembler
from unfooled.words.alignment import CharacterSpan, spaced_words


@dataclass(frozen=True)
class MaskableContext:
    """A question, and the words of its context that are read, each with its tokens."""

    frame: Window
    """The question with a context of one word, as the model reads it."""
    context: str
    places: tuple[CharacterSpan, ...]
    """Where each word stands."""
    tokens: tuple[Tokens, ...]
    room: int
    """Tokens that a window has for the context."""
    mask: int

    def __len__(self) -> int:
        """T."""
        return len(self.places)

    @cached_property
    def _edges(self) -> tuple[int, int]:
        """The first token of the frame's own context and the one past the last."""
        inside = [place for place, word in enumerate(self.frame.maskable) if word]
        return inside[0], inside[-1] + 1

    def shown(self, kept: Collection[int]) -> Window:
        """The window with the words of these numbers, every other word masked.

        Its text is a stand-in with one letter for each word: characters 2·i and 2·i + 1 are word i.
        """
        owners, body = [], list[int]()
        for number, own in enumerate(self.tokens):
            given = own if number in kept else (self.mask,)
            body.extend(given)
            owners += [number] * len(given)
        # Cut after masking: a hidden word takes one place, so it cannot push another one out.
        body, owners = body[: self.room], owners[: self.room]
        start, end = self._edges
        frame, size = self.frame, len(body)
        grown = size - (end - start)
        kind = frame.type_ids[start]
        return Window(
            ids=(*frame.ids[:start], *body, *frame.ids[end:]),
            type_ids=(*frame.type_ids[:start], *[kind] * size, *frame.type_ids[end:]),
            maskable=(*frame.maskable[:start], *[True] * size, *frame.maskable[end:]),
            offsets=(
                *frame.offsets[:start],
                *((CONTEXT, 2 * number, 2 * number + 1) for number in owners),
                *frame.offsets[end:],
            ),
            texts=(frame.texts[0], " ".join("x" * len(self))),
            asked=(*frame.asked[:start], *[False] * size, *frame.asked[end:]),
            null=frame.null if frame.null < start else frame.null + grown,
            ends=2 * owners[-1] + 1 if owners else 0,
        )

    def tokens_of(self, window: Window, span: CharacterSpan | None) -> tuple[int, int] | None:
        """The first and the last token of a span of the context in a window of it, shown or hidden."""
        if span is None:
            return None
        own = [n for n, (start, end) in enumerate(self.places) if end > span[0] and start < span[1]]
        return window.covering((2 * own[0], 2 * own[-1] + 1)) if own else None

    def place(self, words: CharacterSpan) -> CharacterSpan:
        """The characters of the words from one number to before another."""
        return self.places[words[0]][0], self.places[words[1] - 1][1]


class ContextMasker:
    """Cuts contexts into words with tokens, for one model."""

    def __init__(self, model: QaModel) -> None:
        self._model, self._assembler = model, WordAssembler(model)

    def read(self, texts: Sequence[tuple[str, str]]) -> list[MaskableContext]:
        """Each question with its context."""
        self._assembler.read_all([(context,) for _, context in texts])
        frames = self._model.windows([(question, "a") for question, _ in texts])
        mask = self._model.mask_token_id
        assert mask is not None  # the predictor's check refuses a model without one
        found = []
        for (_, context), item in zip(texts, frames, strict=True):
            frame = item.windows[0]
            room = self._model.max_length - len(frame) + sum(frame.maskable)
            places = spaced_words(context)[:room]
            tokens = [
                self._assembler.tokens(context[slice(*place)], first=number == 0)
                for number, place in enumerate(places)
            ]
            found.append(MaskableContext(frame, context, tuple(places), tuple(tokens), room, mask))
        return found


class MaskedContexts:
    """k random words of each context are shown."""

    def __init__(self, model: QaModel, encoded: Sequence[EncodedInput], kept: Callable[[int], int]) -> None:
        self._own = ContextMasker(model).read(questions_of(encoded))
        self.total = [len(own) for own in self._own]
        """T of each question: the words of its context that are read."""
        self.kept = [kept(total) for total in self.total]
        self.keys: Sequence[object] = questions_of(encoded)

    def drawn(self, owner: int, stream: np.random.Generator, count: int) -> list[ContextDraw]:
        orders = (stream.permutation(len(self._own[owner])) for _ in range(count))
        return [np.sort(order[: self.kept[owner]]).astype(np.int64).tobytes() for order in orders]

    def windows(self, drawn: Sequence[tuple[int, ContextDraw]]) -> list[Sequence[Window]]:
        return [
            (self._own[owner].shown(set(np.frombuffer(cast(bytes, draw), dtype=np.int64).tolist())),)
            for owner, draw in drawn
        ]

    def answer(self, owner: int, draw: ContextDraw, span: AnswerSpan) -> VotedAnswer:
        if span == NO_SPAN:
            return VotedAnswer(NO_SPAN, "", NO_SPAN)
        own = self._own[owner]
        words = span[0] // 2, (span[1] + 1) // 2
        place = own.place(words)
        return VotedAnswer(words, own.context[slice(*place)], place)
