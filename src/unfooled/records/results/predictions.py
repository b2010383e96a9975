"""The answers of ``predict``: a sequence of :class:`Prediction` that remembers its texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from unfooled.records.prediction import Prediction
from unfooled.records.results.result import SHOWN_ROWS, Facts, Result


@dataclass(frozen=True, repr=False)
class Predictions(Result, Sequence[Prediction]):
    """One :class:`Prediction` per input, in order.

    >>> predictions[0].label
    """

    answers: tuple[Prediction, ...]
    texts: tuple[str, ...]
    pairs: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self.answers)

    @overload
    def __getitem__(self, place: int) -> Prediction: ...
    @overload
    def __getitem__(self, place: slice) -> Predictions: ...
    def __getitem__(self, place: int | slice) -> Prediction | Predictions:
        if isinstance(place, slice):
            pairs = None if self.pairs is None else self.pairs[place]
            return Predictions(self.answers[place], self.texts[place], pairs)
        return self.answers[place]

    def headline(self) -> str:
        return f"{len(self):,} prediction{'' if len(self) == 1 else 's'}"

    def facts(self) -> Facts:
        refused = sum(bool(one.refused) for one in self.answers)
        abstained = sum(one.abstained for one in self.answers)
        left = len(self) - SHOWN_ROWS
        counted = [("abstained", abstained), ("refused", refused), ("not shown below", left)]
        return [(name, f"{count:,}") for name, count in counted if count > 0]

    def preview(self) -> Sequence[Mapping[str, str]]:
        return [
            {"answer": _answer(one), "score": _score(one), "text": text}
            for one, text in zip(self.answers[:SHOWN_ROWS], self.texts, strict=False)
        ]

    def rows(self) -> Iterator[Mapping[str, object]]:
        pairs = self.pairs or [None] * len(self)
        for one, text, pair in zip(self.answers, self.texts, pairs, strict=True):
            yield {
                "text": text,
                "pair": pair,
                "label": one.label,
                "leader": one.leader,
                "score": one.scores.get(one.leader or ""),
                "abstained": one.abstained,
                "refused": one.refused or None,
                "masked_words": list(one.masked_words),
                "anchored_words": list(one.anchored_words),
                "forwards": one.forwards,
                "truncated": one.truncated,
                **{f"score_{label}": score for label, score in one.scores.items()},
            }


def _answer(one: Prediction) -> str:
    if one.refused:
        return f"refused: {one.refused}"
    return f"not sure (leading: {one.leader})" if one.abstained else str(one.label)


def _score(one: Prediction) -> str:
    return f"{one.scores[one.leader]:.2f}" if one.leader in one.scores else ""
