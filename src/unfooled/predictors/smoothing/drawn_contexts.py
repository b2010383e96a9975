"""Contexts of questions with words deleted or redrawn at random, and the answers that they stand for.

*Deleted* words leave no trace, so an answer is its text, normalised as SQuAD compares answers: a function of
the question and the words that are left. *Redrawn* words keep their places: all else in the context stays,
and a word of the table stands for whatever was drawn for it. So an answer is a place, told in characters of
the context as it was given, whatever words were drawn there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from unfooled.lexicon.substitution import SubstitutionTable
from unfooled.models import EncodedInput, EncodedQuestion, QaModel, Window
from unfooled.models.spans import NO_SPAN
from unfooled.models.windows import CONTEXT, AnswerSpan
from unfooled.predictors.smoothing.answer_votes import ContextDraw, VotedAnswer
from unfooled.records.summaries.squad_score import NO_ANSWER, normalised
from unfooled.words.alignment import Aligned, left_words, rewritten, spaced_words
from unfooled.words.word import WORD


def questions_of(encoded: Sequence[EncodedInput]) -> list[tuple[str, str]]:
    """(question, context) of each input of a model that answers questions."""
    return [cast(EncodedQuestion, item).texts for item in encoded]


def windows_of(model: QaModel, texts: Sequence[tuple[str, str]]) -> list[Sequence[Window]]:
    """What the model reads of each question and context; nothing, where the context has nothing to read."""
    read = iter(model.windows([own for own in texts if own[CONTEXT].strip()]))
    found: list[Sequence[Window]] = []
    for _, context in texts:
        windows = next(read).windows if context.strip() else ()
        found.append(windows if any(any(window.maskable) for window in windows) else ())
    return found


class DeletedContexts:
    """Each word of a context is deleted at random; what is left is joined by single spaces."""

    def __init__(self, model: QaModel, encoded: Sequence[EncodedInput], rate: Callable[[int], float]) -> None:
        self._model = model
        self._texts = questions_of(encoded)
        self.total = [len(spaced_words(context)) for _, context in self._texts]
        """T of each question: the words of its context."""
        self._rates = [rate(total) for total in self.total]
        self.keys: Sequence[object] = [
            (question, tuple(context.split())) for question, context in self._texts
        ]

    def drawn(self, owner: int, stream: np.random.Generator, count: int) -> list[ContextDraw]:
        kept = stream.random((count, self.total[owner])) >= self._rates[owner]
        return [flags.tobytes() for flags in kept]

    def windows(self, drawn: Sequence[tuple[int, ContextDraw]]) -> list[Sequence[Window]]:
        return windows_of(
            self._model, [(self._texts[owner][0], self._left(owner, draw).text) for owner, draw in drawn]
        )

    def answer(self, owner: int, draw: ContextDraw, span: AnswerSpan) -> VotedAnswer:
        if span == NO_SPAN:
            return VotedAnswer(NO_ANSWER, NO_ANSWER, NO_SPAN)
        left = self._left(owner, draw)
        text = left.text[slice(*span)]
        # Of some answers («the») normalisation leaves nothing: SQuAD's scores take them for no answer.
        key = normalised(text)
        return VotedAnswer(key, text, left.original(span)) if key else VotedAnswer(key, NO_ANSWER, NO_SPAN)

    def _left(self, owner: int, draw: ContextDraw) -> Aligned:
        return left_words(self._texts[owner][CONTEXT], cast(bytes, draw))


class RedrawnContexts:
    """Each word of a context that is in the table is redrawn from its substitution set."""

    def __init__(self, model: QaModel, encoded: Sequence[EncodedInput], table: SubstitutionTable) -> None:
        self._model = model
        self._texts = questions_of(encoded)
        self._sets = [
            [table.sampled(match[0]) for match in WORD.finditer(context)] for _, context in self._texts
        ]
        self._sizes: list[NDArray[np.int64]] = [
            np.array([len(options) for options in own], dtype=np.int64) for own in self._sets
        ]
        self.keys: Sequence[object] = self._texts

    def drawn(self, owner: int, stream: np.random.Generator, count: int) -> list[ContextDraw]:
        sizes = self._sizes[owner]
        return [row.tobytes() for row in stream.integers(sizes, size=(count, len(sizes)), dtype=np.int64)]

    def windows(self, drawn: Sequence[tuple[int, ContextDraw]]) -> list[Sequence[Window]]:
        return windows_of(
            self._model, [(self._texts[owner][0], self._redrawn(owner, draw).text) for owner, draw in drawn]
        )

    def answer(self, owner: int, draw: ContextDraw, span: AnswerSpan) -> VotedAnswer:
        place = span if span == NO_SPAN else self._redrawn(owner, draw).original(span)
        return VotedAnswer(place, self._texts[owner][CONTEXT][slice(*place)], place)

    def _redrawn(self, owner: int, draw: ContextDraw) -> Aligned:
        chosen, sets = np.frombuffer(cast(bytes, draw), dtype=np.int64).tolist(), self._sets[owner]

        def write(number: int, word: str) -> str | None:
            options = sets[number]
            return None if len(options) == 1 else options[chosen[number]]

        return rewritten(self._texts[owner][CONTEXT], write)
