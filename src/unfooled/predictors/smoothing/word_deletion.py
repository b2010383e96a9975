"""Random deletion: each word is deleted with rate p, and what is left is the input (Huang et al. 2023, 2024).

The words that are left close up: nothing shows where others were, so the base classifier sees a subsequence
of the text and nothing else. That is what ``deletion_edits`` certifies: words inserted, deleted or replaced.
A draw costs as many tokens as words were kept, a tenth at p = 0.9. The empty text is a text and gets an
answer.

The rate may depend on the number of words T through fixed bins: short texts keep more. An edit that changes
T may leave the bin, so a radius for such edits ends at the bin's edge; replacements keep T.

Of a question the words of the context are deleted, the question stays whole, and the vote is over normalised
answers (:mod:`.drawn_contexts`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unfooled.errors import UsageError
from unfooled.models import Encoded, EncodedInput, Model, QaModel, as_reader, as_texts
from unfooled.predictors.predictor import Seed
from unfooled.predictors.smoothing.answer_votes import AnswerSampler
from unfooled.predictors.smoothing.base import SmoothedVote, seeds_of
from unfooled.predictors.smoothing.drawn_contexts import DeletedContexts
from unfooled.predictors.smoothing.model_check import ModelCheck
from unfooled.predictors.smoothing.streams import DrawPiece, DrawRequest, generator, pieces, stream_keys
from unfooled.predictors.smoothing.vote_labels import Draw, RememberedAnswers, tally
from unfooled.predictors.smoothing.word_texts import assembler_of
from unfooled.predictors.smoothing.word_tokens import WordAssembler, word_places
from unfooled.settings import setting


@dataclass(frozen=True)
class RandomWordDelete(SmoothedVote):
    """A vote over random subsequences of the words."""

    name: ClassVar[str] = "random-delete"
    draws: ClassVar[str] = "random deletions of words"

    rates: tuple[float, ...] = setting(
        (0.9,), "Share of words deleted (p): one rate, or one per length bin", at_least=0, at_most=1
    )
    bins: tuple[int, ...] = setting((), "Largest number of words of each length bin but the last")

    def check(self, model: Model) -> None:
        as_reader(model)  # only texts have words
        if len(self.rates) != len(self.bins) + 1:
            raise UsageError(
                f"rates has {len(self.rates)} and bins {len(self.bins)} entries: give one rate more than "
                "bins, for example rates=[0.6,0.9] and bins=[12] (0.6 up to 12 words, 0.9 above)."
            )
        if any(not 0 <= rate < 1 for rate in self.rates):
            raise UsageError(f"rates must be at least 0 and below 1, got {list(self.rates)}.")
        if list(self.bins) != sorted(set(self.bins)) or any(edge < 1 for edge in self.bins):
            raise UsageError(f"bins must be rising numbers of words from 1, got {list(self.bins)}.")

    def rate(self, words: int) -> float:
        """p of a text with so many words."""
        return self.rates[bisect_left(self.bins, words)]

    def within_bin(self, words: int) -> int | None:
        """How many words may be added or taken away before the rate changes; None: any number."""
        place = bisect_left(self.bins, words)
        room = [words - self.bins[place - 1] - 1] if place else []
        room += [self.bins[place] - words] if place < len(self.bins) else []
        return min(room, default=None)

    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> DeletedWordsSampler | AnswerSampler:
        if isinstance(model, QaModel):
            return AnswerSampler(
                model, DeletedContexts(model, encoded, self.rate), seeds_of(seed, len(encoded)), purpose
            )
        return DeletedWordsSampler(self, model, encoded, seeds_of(seed, len(encoded)), purpose)


class DeletedWordsSampler:
    """Draws labels of texts from which words were deleted at random."""

    check: ModelCheck | None = None

    def __init__(
        self,
        settings: RandomWordDelete,
        model: Model,
        encoded: Sequence[EncodedInput],
        seeds: Sequence[int],
        purpose: str,
    ) -> None:
        self._classes, self._answers = model.num_labels, RememberedAnswers(model)
        self._assembler = assembler_of(model)
        self._texts = [item.texts for item in as_texts(encoded)]
        self.words = self._assembler.read_all(self._texts)
        self.total = [sum(map(len, own)) for own in self.words]
        """T of each input."""
        self._rates = [settings.rate(total) for total in self.total]
        self._seeds = seeds
        self._keys = stream_keys(seeds, purpose, self.words)

    def again(self, purpose: str) -> DeletedWordsSampler:
        other = copy(self)
        other._answers = RememberedAnswers(self._answers.model)
        other._keys = stream_keys(self._seeds, purpose, self.words)
        return other

    def versions(self, requests: Sequence[DrawRequest]) -> list[Encoded]:
        assert isinstance(self._assembler, WordAssembler)
        places = [word_places(own, read) for own, read in zip(self._texts, self.words, strict=True)]
        return [
            self._assembler.left(self.words[owner], flags, places[owner])
            for owner, flags in self._drawn(pieces(requests))
        ]

    def _drawn(self, parts: Sequence[DrawPiece]) -> list[Draw]:
        drawn: list[Draw] = []
        for piece in parts:
            owner = piece.owner
            chances = generator(self._keys[owner], piece.block).random((piece.stop, self.total[owner]))
            kept = chances[piece.start :] >= self._rates[owner]
            drawn.extend((owner, flags.tobytes()) for flags in kept)
        return drawn

    def counts(self, requests: Sequence[DrawRequest]) -> list[NDArray[np.int64]]:
        parts = pieces(requests)
        drawn = self._drawn(parts)

        def make(number: int) -> EncodedInput:
            owner, flags = drawn[number]
            return self._assembler.left(self.words[owner], flags)  # bytes of 0 and 1

        labels = self._answers.labels(drawn, make, self.check)
        return tally(labels, parts, requests=len(requests), classes=self._classes)
