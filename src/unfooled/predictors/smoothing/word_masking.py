"""Random word masking: k of the T words are shown, the others are one mask token each (Zeng et al. 2021).

RanMASK, the certified form of random masking (Moon et al. 2023, RM). Which words are shown depends on T
alone, and a hidden word leaves no trace (see :mod:`.word_tokens`). So if r words are changed and T stays,
every draw that shows none of them sees exactly what it saw before: that is what ``masked_words`` counts.

``hidden=dropped`` leaves the mask tokens out, while every other token keeps the position number that it has
among them. What is shown, and where, is the same, so the certificate is; a draw costs as many tokens as are
shown. The model must know places by absolute position numbers alone, or they would close up.

Of a question the words of the context are hidden, the question stays whole, and the vote is over places in
the context (:mod:`.masked_contexts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from unfooled.errors import UsageError
from unfooled.models import Encoded, EncodedInput, Model, QaModel, as_text, as_texts
from unfooled.predictors.predictor import Seed
from unfooled.predictors.smoothing.answer_votes import AnswerSampler
from unfooled.predictors.smoothing.base import SmoothedVote, seeds_of
from unfooled.predictors.smoothing.masked_contexts import MaskedContexts
from unfooled.predictors.smoothing.model_check import ModelCheck
from unfooled.predictors.smoothing.streams import DrawPiece, DrawRequest, generator, pieces, stream_keys
from unfooled.predictors.smoothing.vote_labels import Draw, RememberedAnswers, tally
from unfooled.predictors.smoothing.word_texts import assembler_of
from unfooled.predictors.smoothing.word_tokens import WordAssembler, word_places
from unfooled.settings import setting

Hidden = Literal["mask-token", "dropped"]
HIDDEN_HELP = "A hidden word is: mask-token, or dropped (faster; the others keep their position numbers)"


@dataclass(frozen=True)
class RandomWordMask(SmoothedVote):
    """A vote over inputs that show k random words."""

    name: ClassVar[str] = "random-mask"
    draws: ClassVar[str] = "random masks on words"

    kept: float = setting(
        0.3, "Words shown: a share of them (below 1) or their number (1 or more)", at_least=0
    )

    hidden: Hidden = setting("mask-token", HIDDEN_HELP)

    def check(self, model: Model) -> None:
        if self.hidden == "dropped":
            if model.kind == "question":
                raise UsageError(
                    "hidden=dropped does not serve questions: the answer may be a hidden word, which must "
                    "have a place that the model can name. Set hidden=mask-token."
                )
            if reason := as_text(model).gap_refusal():
                raise UsageError(f"hidden=dropped: {reason}, or set hidden=mask-token.")
        elif reason := model.mask_refusal():
            raise UsageError(f"The predictor random-mask shows a mask token for every hidden word; {reason}.")
        if self.kept >= 1 and not float(self.kept).is_integer():
            raise UsageError(f"kept must be a share below 1 or a whole number of words, got {self.kept}.")

    def kept_words(self, total: int) -> int:
        """k of T words: at least one, at most all."""
        wanted = int(self.kept) if self.kept >= 1 else round(self.kept * total)
        return min(total, max(1, wanted))

    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> MaskedWordsSampler | AnswerSampler:
        if isinstance(model, QaModel):
            return AnswerSampler(
                model, MaskedContexts(model, encoded, self.kept_words), seeds_of(seed, len(encoded)), purpose
            )
        return MaskedWordsSampler(self, model, encoded, seeds_of(seed, len(encoded)), purpose)


class MaskedWordsSampler:
    """Draws labels of texts with all but k words hidden."""

    check: ModelCheck | None = None

    def __init__(
        self,
        settings: RandomWordMask,
        model: Model,
        encoded: Sequence[EncodedInput],
        seeds: Sequence[int],
        purpose: str,
    ) -> None:
        self._classes, self._answers = model.num_labels, RememberedAnswers(model)
        self._dropped = settings.hidden == "dropped"
        self._assembler = assembler_of(model)
        self._texts = [item.texts for item in as_texts(encoded)]
        self.words = self._assembler.read(self._texts)
        self.total = [len(own) for own in self.words]
        """T of each input: the words that are read."""
        self.kept = [settings.kept_words(total) for total in self.total]
        self._seeds = seeds
        self._keys = stream_keys(seeds, purpose, [own.words for own in self.words])

    def again(self, purpose: str) -> MaskedWordsSampler:
        other = copy(self)
        other._answers = RememberedAnswers(self._answers.model)
        other._keys = stream_keys(self._seeds, purpose, [own.words for own in self.words])
        return other

    def versions(self, requests: Sequence[DrawRequest]) -> list[Encoded]:
        assert isinstance(self._assembler, WordAssembler)
        places = [word_places(own, read.words) for own, read in zip(self._texts, self.words, strict=True)]
        return [
            self._assembler.shown(
                self.words[owner], _numbers(shown), dropped=self._dropped, places=places[owner]
            )
            for owner, shown in self._drawn(pieces(requests))
        ]

    def _drawn(self, parts: Sequence[DrawPiece]) -> list[Draw]:
        drawn: list[Draw] = []
        for piece in parts:
            stream = generator(self._keys[piece.owner], piece.block)
            for draw in range(piece.stop):
                order = stream.permutation(self.total[piece.owner])
                if draw >= piece.start:
                    shown = np.sort(order[: self.kept[piece.owner]]).astype(np.int64)
                    drawn.append((piece.owner, shown.tobytes()))
        return drawn

    def counts(self, requests: Sequence[DrawRequest]) -> list[NDArray[np.int64]]:
        parts = pieces(requests)
        drawn = self._drawn(parts)

        def make(number: int) -> EncodedInput:
            owner, shown = drawn[number]
            return self._assembler.shown(self.words[owner], _numbers(shown), dropped=self._dropped)

        labels = self._answers.labels(drawn, make, self.check)
        return tally(labels, parts, requests=len(requests), classes=self._classes)


def _numbers(shown: bytes) -> set[int]:
    """The numbers of the words that a draw shows."""
    return set(np.frombuffer(shown, dtype=np.int64).tolist())
