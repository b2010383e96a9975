"""A black box as a model: it reads texts and gives class probabilities, and shows nothing of its inside.

What needs only answers works with it as with any model: votes over words that are deleted, masked or
replaced, and the certificates of these votes. It has no tokens, embeddings or gradients, so noise and
saliency are refused. Its scores are probabilities and stand where other models have logits; only which of
them is the largest is ever used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import torch
from torch import Tensor

from unfooled.errors import QueriesSpent, UsageError, UserError
from unfooled.models.encoding import checked_texts, refusal
from unfooled.models.model import Excerpt, Forward, Model, Shared, Unreadable
from unfooled.models.noise import Site

Texts = tuple[str, ...]
"""A text, or both texts of a pair."""
AskTexts = Callable[[Sequence[Texts]], Sequence[Sequence[float]]]
"""One row of class probabilities per input."""
TEXTS_AT_ONCE = 4096
"""Texts that are handed over together; what answers them makes its own batches."""


@dataclass(frozen=True)
class PlainTexts:
    """One input as it was given."""

    texts: Texts
    truncated: ClassVar[bool] = False

    def __len__(self) -> int:
        return 1

    def key(self) -> Texts:
        return self.texts

    def show(self) -> str:
        return " ⟷ ".join(self.texts)

    def excerpts(self, positions: Sequence[int]) -> list[Excerpt]:
        return []


@dataclass(frozen=True)
class TextsBatch:
    """Inputs that are asked together."""

    encoded: tuple[PlainTexts, ...]
    labels: Tensor | None = None

    def __len__(self) -> int:
        return len(self.encoded)

    def rows(self, index: Tensor) -> TextsBatch:
        labels = None if self.labels is None else self.labels[index]
        return replace(self, encoded=tuple(self.encoded[row] for row in index.tolist()), labels=labels)


class BlackBox:
    """A model known by its answers alone.

    ``ask`` answers texts with ``classes`` probabilities each and must always answer a text alike. ``mask`` is
    the word that stands for a hidden word, if it was trained with one. ``empty`` is the class of a text of
    which no word is left; without it the black box is asked. ``max_queries``: asked about no more texts.
    """

    kind: ClassVar[str] = "text"
    bounds: ClassVar[tuple[float, float] | None] = None
    precision: ClassVar[str] = "float32"
    parallel: ClassVar[bool] = False
    batch_size: ClassVar[int] = TEXTS_AT_ONCE
    parts, readings, compared = Model.parts, Model.readings, Model.compared
    answer_texts, decisive = Model.answer_texts, Model.decisive

    def __init__(
        self,
        ask: AskTexts,
        *,
        name: str,
        classes: int,
        identity: Mapping[str, object],
        mask: str | None = None,
        empty: int | None = None,
        max_queries: int | None = None,
    ) -> None:
        self.module: Any = None
        self.name = name
        self.mask = mask
        self.empty = empty
        self.max_queries = max_queries
        self.queries = 0
        """Texts that it was asked about so far."""
        self.on_answers: Callable[[], None] = lambda: None
        """Called after each round of answers, for progress."""
        self._ask = ask
        self._classes = classes
        self._identity = dict(identity)

    def __repr__(self) -> str:
        return f"BlackBox({self.name!r})"

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def num_labels(self) -> int:
        return self._classes

    def evaluating(self) -> None:
        """There is nothing to switch."""

    def inputs(self, first: Sequence[str], second: Sequence[str] | None = None) -> list[Texts]:
        return checked_texts(first, second)

    def read(self, inputs: Sequence[str | Texts]) -> list[PlainTexts | Unreadable]:
        texts = [(own,) if isinstance(own, str) else own for own in inputs]
        return [Unreadable(reason) if (reason := refusal(own)) else PlainTexts(own) for own in texts]

    def encode(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[PlainTexts]:
        """Texts as they are; empty ones too, since they may be what random deletion leaves."""
        columns = (texts,) if pairs is None else (texts, pairs)
        return [PlainTexts(own) for own in zip(*columns, strict=True)]

    def batch(self, encoded: Sequence[PlainTexts], labels: Sequence[int] | None = None) -> TextsBatch:
        return TextsBatch(tuple(encoded), None if labels is None else torch.tensor(list(labels)))

    def forward(self, batch: TextsBatch, **inside: Any) -> Forward:
        """The probabilities; noise, hidden states and copies, which are inside a model, are refused."""
        if any(value is not None and value is not False and value != () for value in inside.values()):
            self.closed()
        rows: list[Sequence[float]] = [()] * len(batch)
        asked = []
        for number, item in enumerate(batch.encoded):
            if self.empty is not None and not any(text.strip() for text in item.texts):
                rows[number] = [float(label == self.empty) for label in range(self._classes)]
            else:
                asked.append(number)
        for number, row in zip(asked, self._answers([batch.encoded[i].texts for i in asked]), strict=True):
            rows[number] = row
        return Forward(torch.tensor(rows, dtype=torch.float64).reshape(len(rows), self._classes))

    def _answers(self, texts: list[Texts]) -> Sequence[Sequence[float]]:
        if not texts:
            return []
        if self.max_queries is not None and self.queries + len(texts) > self.max_queries:
            raise QueriesSpent(
                f"The budget of {self.max_queries:,} queries to {self.name} is spent ({self.queries:,} were "
                f"asked, and {len(texts):,} more are needed at once). Raise max_queries (--max-queries), or "
                "run again to go on from what is done."
            )
        self.queries += len(texts)
        found = self._ask(texts)
        if len(found) != len(texts) or any(len(row) != self._classes for row in found):
            raise UserError(
                f"{self.name} gave {len(found)} answers to {len(texts)} texts, or not {self._classes} scores "
                "in each. It must answer every text with one score per class."
            )
        self.on_answers()
        return found

    def start(self, batch: TextsBatch) -> Tensor:
        self.closed()

    def coordinates(self, item: PlainTexts) -> int:
        self.closed()

    def shared(self, batch: TextsBatch, sites: Sequence[Site]) -> None:
        return None

    def after(self, batch: TextsBatch, shared: Shared, **how: Any) -> Forward:
        self.closed()

    def gradient(self, batch: TextsBatch, labels: Tensor | None = None, **how: Any) -> tuple[Tensor, Tensor]:
        self.closed()

    def check_sites(self, sites: Sequence[Site], setting: str = "noise_layers") -> None:
        self.closed()

    def mask_refusal(self) -> str:
        if self.mask is not None:
            return ""
        return f"{self.name} has no mask token. Use random-delete"

    def identity(self) -> dict[str, Any]:
        return {"black_box": self._identity, "mask": self.mask, "empty": self.empty}

    def closed(self) -> NoReturn:
        """Refuse what needs more than answers."""
        raise UsageError(
            f"{self.name} shows only its answers, and this needs its tokens, embeddings or gradients. What "
            "works with answers alone: the predictors random-delete and safer (random-mask if it has a mask "
            "token), and the threats words, edits and synonyms."
        )
