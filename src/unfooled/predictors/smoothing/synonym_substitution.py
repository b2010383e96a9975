"""Random synonyms: every word is redrawn uniformly from its substitution set (SAFER, Ye et al. 2020).

Words (``unfooled.words.word``) are looked up whatever their case. A word of the table is redrawn in lower
case; a word that is not in it, and all else in the text, stays as it is. Since the
draw of one word depends on that word alone, replacing w by w' moves what the base classifier sees by no more
than the two draws differ: that is what ``synonym_words`` counts.

Of a question the words of the context are redrawn, the question stays as it is, and the vote is over places
in the context (:mod:`.drawn_contexts`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from unfooled.lexicon.substitution import SubstitutionTable, load_table
from unfooled.models import Encoded, EncodedInput, Model, QaModel, as_reader, as_texts
from unfooled.predictors.predictor import Seed
from unfooled.predictors.smoothing.answer_votes import AnswerSampler
from unfooled.predictors.smoothing.base import SmoothedVote, seeds_of
from unfooled.predictors.smoothing.drawn_contexts import RedrawnContexts
from unfooled.predictors.smoothing.model_check import ModelCheck
from unfooled.predictors.smoothing.streams import DrawPiece, DrawRequest, generator, pieces, stream_keys
from unfooled.predictors.smoothing.vote_labels import answers, tally
from unfooled.predictors.smoothing.word_tokens import Place
from unfooled.settings import setting
from unfooled.words.word import WORD, in_case_of

T = TypeVar("T")


@dataclass(frozen=True)
class SubstitutionSets:
    """Which words may stand for which: settings that training and the vote must share."""

    table: str = setting(
        "counter-fitted", "Substitutes: counter-fitted, wordnet, or a JSON file with synonyms of words"
    )
    min_cosine: float = setting(0.8, "Least cosine of counter-fitted substitutes", at_least=-1, at_most=1)
    max_synonyms: int = setting(100, "Most substitutes of a word (K)", at_least=1)
    expand: bool = setting(
        True, "Redraw from the whole connected component of synonyms, if that has at most K words"
    )

    def substitutes(self) -> SubstitutionTable:
        """The table; the first call computes and keeps it."""
        return load_table(self.table, min_cosine=self.min_cosine, most=self.max_synonyms, expand=self.expand)


@dataclass(frozen=True)
class SynonymVote(SubstitutionSets, SmoothedVote):
    """A vote over texts whose words were redrawn."""

    name: ClassVar[str] = "safer"
    draws: ClassVar[str] = "random substitutions of words"

    def check(self, model: Model) -> None:
        as_reader(model)

    def drawn_for(self, word: str) -> tuple[str, ...]:
        return self.substitutes().sampled(word)

    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> SynonymSampler | AnswerSampler:
        table = self.substitutes()
        if isinstance(model, QaModel):
            return AnswerSampler(
                model, RedrawnContexts(model, encoded, table), seeds_of(seed, len(encoded)), purpose
            )
        return SynonymSampler(table, model, encoded, seeds_of(seed, len(encoded)), purpose)


def resampled(
    text: str, table: SubstitutionTable, choose: Callable[[int], int], *, keep_case: bool = False
) -> str:
    """The text with every word redrawn; ``choose(n)`` gives a uniform number below n.

    ``keep_case``: in the case of the word that it replaces; the certified vote draws the same for all cases.
    """

    return WORD.sub(lambda match: _redrawn(match[0], table, choose, keep_case=keep_case), text)


def _redrawn(
    word: str, table: SubstitutionTable, choose: Callable[[int], int], *, keep_case: bool = False
) -> str:
    options = table.sampled(word)
    if len(options) == 1:
        return word
    drawn = options[choose(len(options))]
    return in_case_of(word, drawn) if keep_case else drawn


class _Version:
    """A text as :func:`resampled` draws it, which remembers where its words stood."""

    def __init__(self, text: str, table: SubstitutionTable, choose: Callable[[int], int]) -> None:
        parts: list[str] = []
        self._old: list[tuple[int, int]] = [(0, 0)]
        self._new: list[tuple[int, int]] = [(0, 0)]
        length = 0
        for match in WORD.finditer(text):
            before, word = text[self._old[-1][1] : match.start()], _redrawn(match[0], table, choose)
            parts += [before, word]
            start = length + len(before)
            length = start + len(word)
            self._old.append(match.span())
            self._new.append((start, length))
        self.text = "".join([*parts, text[self._old[-1][1] :]])

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a span of characters of the version came from; of a part of a word, the whole word."""
        while start < end and self.text[start].isspace():
            start += 1
        return self._place(start)[0], self._place(end - 1)[1] if end > start else self._place(start)[0]

    def _place(self, character: int) -> tuple[int, int]:
        """Where a character came from: its word, or itself."""
        number = bisect_right(self._new, (character, len(self.text))) - 1
        if character < self._new[number][1]:
            return self._old[number]
        place = character + self._old[number][1] - self._new[number][1]
        return place, place + 1


class SynonymSampler:
    """Draws labels of texts with all words redrawn."""

    check: ModelCheck | None = None

    def __init__(
        self,
        table: SubstitutionTable,
        model: Model,
        encoded: Sequence[EncodedInput],
        seeds: Sequence[int],
        purpose: str,
    ) -> None:
        self._table, self._model = table, as_reader(model)
        self._texts = [item.texts for item in as_texts(encoded)]
        self._seeds = seeds
        self._keys = stream_keys(seeds, purpose, self._texts)

    def again(self, purpose: str) -> SynonymSampler:
        other = copy(self)
        other._keys = stream_keys(self._seeds, purpose, self._texts)
        return other

    def versions(self, requests: Sequence[DrawRequest]) -> list[Encoded]:
        drawn = self._drawn(pieces(requests), partial(_Version, table=self._table))
        pairs = [texts[1].text for texts in drawn] if any(len(texts) == 2 for texts in drawn) else None
        found = as_texts(self._model.encode([texts[0].text for texts in drawn], pairs))
        return [
            replace(item, offsets=tuple(_origin(texts, *place) for place in item.offsets))
            for item, texts in zip(found, drawn, strict=True)
        ]

    def _drawn(self, parts: Sequence[DrawPiece], redraw: Callable[..., T]) -> list[tuple[T, ...]]:
        """Every draw of the pieces; ``redraw`` makes a version of a text with a stream's choices."""
        drawn: list[tuple[T, ...]] = []
        for piece in parts:
            stream = generator(self._keys[piece.owner], piece.block)
            for draw in range(piece.stop):
                texts = tuple(
                    redraw(text, choose=lambda n: int(stream.integers(n)))  # noqa: B023
                    for text in self._texts[piece.owner]
                )
                if draw >= piece.start:
                    drawn.append(texts)
        return drawn

    def counts(self, requests: Sequence[DrawRequest]) -> list[NDArray[np.int64]]:
        parts = pieces(requests)
        drawn = self._drawn(parts, partial(resampled, table=self._table))
        distinct = {texts: number for number, texts in enumerate(dict.fromkeys(drawn))}
        pairs = [texts[1] for texts in distinct] if any(len(texts) == 2 for texts in distinct) else None
        encoded = self._model.encode([texts[0] for texts in distinct], pairs)
        labels = answers(self._model, encoded, self.check)[[distinct[texts] for texts in drawn]]
        return tally(labels, parts, requests=len(requests), classes=self._model.num_labels)


def _origin(versions: Sequence[_Version], which: int, start: int, end: int) -> Place:
    """Where a token of the versions came from in the texts themselves; special tokens from nowhere."""
    return (which, *versions[which].origin(start, end)) if end > start else (which, start, end)
