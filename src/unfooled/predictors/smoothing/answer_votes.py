"""Votes of a model that answers questions: any number of possible answers, found while they are given.

A draw is a context made at random from the question's own (:class:`ContextDraws`); the question stays whole.
What the model says of it, windows and all, is a function of the question and the drawn context alone. A vote
counts equal *keys*: the place of the answer where words keep their places, else its normalised text. The set
of keys may be any countable set: the bounds of certificates are about one key and the largest other one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unfooled.hub.batches import map_by_length
from unfooled.models import QaModel, Window
from unfooled.models.spans import NO_SPAN, SpanScores, compared_spans
from unfooled.models.windows import AnswerSpan
from unfooled.predictors.smoothing.model_check import ModelCheck
from unfooled.predictors.smoothing.streams import DrawRequest, generator, pieces, stream_keys
from unfooled.predictors.smoothing.vote_labels import refuse_infinite
from unfooled.predictors.tally import argmax
from unfooled.records.decision import Decision

ContextDraw = Hashable
"""Which context was drawn: equal draws of a question are equal contexts."""


@dataclass(frozen=True)
class VotedAnswer:
    """A possible answer."""

    key: Hashable
    """What votes are counted by."""
    text: str
    """As it was first given; empty for no answer."""
    span: AnswerSpan
    """Its place in the context of the question, (0, 0) for no answer."""


class ContextDraws(Protocol):
    """How the contexts of some questions are drawn, read, and what an answer to a drawn one stands for."""

    keys: Sequence[object]
    """What the draws of each question depend on."""

    def drawn(self, owner: int, stream: np.random.Generator, count: int) -> Sequence[ContextDraw]:
        """The first draws of a block. More of them begin with the same ones."""
        ...

    def windows(self, drawn: Sequence[tuple[int, ContextDraw]]) -> list[Sequence[Window]]:
        """What the model reads of each (question, draw); nothing, where nothing is left to read."""
        ...

    def answer(self, owner: int, draw: ContextDraw, span: AnswerSpan) -> VotedAnswer:
        """What a span of the drawn context stands for; (0, 0) is no answer."""
        ...


class AnswerSampler:
    """Draws answers to questions whose contexts are changed at random."""

    check: ModelCheck | None = None

    def __init__(self, model: QaModel, draws: ContextDraws, seeds: Sequence[int], purpose: str) -> None:
        self._model, self.draws, self._seeds = model, draws, seeds
        self._stream_keys = stream_keys(seeds, purpose, draws.keys)
        self._answers: list[dict[Hashable, tuple[int, VotedAnswer]]] = [{} for _ in draws.keys]
        """Of each question, in the order in which they were first given; ``again`` shares them."""
        self._remembered: dict[int, dict[ContextDraw, int]] = {}

    def again(self, purpose: str) -> AnswerSampler:
        other = copy(self)
        other._stream_keys = stream_keys(self._seeds, purpose, self.draws.keys)
        other._remembered = {}
        return other

    def answers(self, owner: int) -> list[VotedAnswer]:
        """The answers that the counts of a question are about, in their order."""
        return [answer for _, answer in self._answers[owner].values()]

    def named(self, owner: int, decision: Decision) -> Decision:
        """A decision about the votes of a question, with the answers that they are about."""
        own = self.answers(owner)
        return replace(decision, answers=tuple(one.span for one in own), texts=tuple(one.text for one in own))

    def counts(self, requests: Sequence[DrawRequest]) -> list[NDArray[np.int64]]:
        """Votes of each answer known so far, for each request; later counts may be longer."""
        parts = pieces(requests)
        drawn: list[tuple[int, ContextDraw]] = []
        for piece in parts:
            stream = generator(self._stream_keys[piece.owner], piece.block)
            found = self.draws.drawn(piece.owner, stream, piece.stop)
            drawn.extend((piece.owner, draw) for draw in found[piece.start :])
        numbers = iter(self._numbers(drawn))
        votes: list[list[int]] = [[] for _ in requests]
        for piece in parts:
            votes[piece.request] += [next(numbers) for _ in range(len(piece))]
        return [
            np.bincount(own, minlength=len(self._answers[owner])).astype(np.int64)
            for own, (owner, _, _) in zip(votes, requests, strict=True)
        ]

    def _numbers(self, drawn: Sequence[tuple[int, ContextDraw]]) -> list[int]:
        """The number of the answer to each draw. Draws that came before are not asked again."""
        of = self._remembered = {owner: self._remembered.get(owner, {}) for owner, _ in drawn}
        new = list(dict.fromkeys(one for one in drawn if one[1] not in of[one[0]]))
        spans = read_spans(self._model, self.draws.windows(new), self.check)
        for (owner, draw), span in zip(new, spans, strict=True):
            answer, known = self.draws.answer(owner, draw, span), self._answers[owner]
            of[owner][draw], _ = known.setdefault(answer.key, (len(known), answer))
        return [of[owner][draw] for owner, draw in drawn]


def answer_names(answers: Sequence[VotedAnswer]) -> list[str]:
    """A name of each answer; one whose text was given from another place before carries its place."""
    names: dict[str, None] = {}
    for one in answers:
        named = one.text if one.text not in names else f"{one.text} (from character {one.span[0]})"
        while named in names:
            named += "'"
        names[named] = None
    return list(names)


def read_spans(
    model: QaModel, asked: Sequence[Sequence[Window]], check: ModelCheck | None = None
) -> list[AnswerSpan]:
    """The best span of the windows of each context, (0, 0) for no answer or nothing to read."""
    rows = [window for windows in asked for window in windows]

    def of_chunk(chunk: list[int]) -> list[SpanScores]:
        own = [rows[place] for place in chunk]

        def ask(places: Sequence[int]) -> Tensor:
            some = [own[place] for place in places]
            return model.decisive(some, model.forward(model.batch(some)).logits)

        with torch.inference_mode():
            logits = model.forward(model.batch(own)).logits
            refuse_infinite(logits)
            if check is not None:
                check(model.decisive(own, logits), ask)
            return model.readings(own, logits)

    lengths = [len(window) for window in rows]
    readings = iter(map_by_length(of_chunk, lengths, model.batch_size, model.device, parallel=model.parallel))
    found = []
    for windows in asked:
        own = [next(readings) for _ in windows]
        if not own:
            found.append(NO_SPAN)
            continue
        compared = compared_spans([own], unanswerable=model.unanswerable)
        assert compared.answers is not None
        found.append(compared.answers[argmax(compared.rows[0])])
    return found
