"""What is attacked: anything that answers texts with class probabilities.

A ``Victim`` gets queries with a noise key each and gives an :class:`Answer` each. A victim whose answers are
not random ignores the keys. Gradients, where an attack needs them, come from a ``WhiteBoxVictim``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unfooled.records.question_change import GivenAnswer

Query = tuple[str, ...]
"""The text, or both texts of a pair."""
ImageArray = NDArray[np.float32]
"""The pixels of an image from 0 to 1, ``(channels, height, width)``."""
QueryT = TypeVar("QueryT")


@dataclass(frozen=True)
class Asked(Generic[QueryT]):
    """One query to a victim: a :data:`Query` or a :data:`ImageArray`."""

    query: QueryT
    key: int = 0
    """Fixes the victim's noise for this query; another key is another draw."""


@dataclass(frozen=True)
class Answer:
    """Class probabilities (or vote shares) and the label the victim gives."""

    scores: tuple[float, ...]
    label: int
    forwards: int = 1
    """Forward passes spent on it."""
    abstained: bool = False
    given: GivenAnswer | None = None
    """Of a question: the answer itself. The classes are then right and wrong."""


@dataclass(frozen=True)
class Gradients:
    """The loss gradient at each token of a query, averaged over the victim's noise.

    ``gradient``: ``(tokens, width)``; ``spans``: (which text, start, end) of each token.
    """

    gradient: np.ndarray
    spans: tuple[tuple[int, int, int], ...]
    forwards: int = 1

    def of_span(self, which: int, start: int, end: int) -> np.ndarray:
        """Sum of the gradients of the tokens that overlap a span of characters, ``(width,)``."""
        rows = [
            row for row, (w, s, e) in enumerate(self.spans) if w == which and s < end and e > start and e > s
        ]
        return self.gradient[rows].sum(axis=0) if rows else np.zeros(self.gradient.shape[1])


@dataclass(frozen=True)
class PixelGradient:
    """The loss gradient at each pixel, and the class probabilities, averaged over the victim's noise."""

    gradient: ImageArray
    scores: tuple[float, ...]
    forwards: int = 1
    loss: float = 0.0
    """The mean of what the gradient is of."""

    @property
    def label(self) -> int:
        """The most probable class."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)


@runtime_checkable
class Victim(Protocol):
    """Answers queries. ``randomised``: the same query may get another answer under another key."""

    labels: tuple[str, ...]
    randomised: bool

    def answers(self, asked: Sequence[Asked]) -> list[Answer]: ...


@runtime_checkable
class WhiteBoxVictim(Victim, Protocol):
    """Also shows its gradients, word embeddings and soft scores to the attacker."""

    def gradients(self, asked: Sequence[tuple[Asked, int]], *, draws: int) -> list[Gradients]:
        """Gradient of −log of the mean probability of the given class, over ``draws`` of the victim's noise,
        masks or changed texts."""
        ...

    def expected(self, asked: Sequence[Asked], *, draws: int) -> list[Answer]:
        """Mean probabilities over ``draws`` of its noise, masks or changed texts, not its decision."""
        ...

    def embedding(self, words: Sequence[str]) -> np.ndarray:
        """Sum of the word embeddings of each word's tokens, ``(words, width)``.

        Where the victim redraws words, the mean over what may be drawn for the word.
        """
        ...


def derived_key(*parts: int | str) -> int:
    """A 63-bit key from numbers and texts, the same everywhere."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return int.from_bytes(digest.digest(), "little") >> 1
