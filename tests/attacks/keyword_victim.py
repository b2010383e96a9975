"""A victim that adds up the weights of words it knows, and stand-ins for the other services.

>>> KeywordVictim().answers([Asked(("a witty film",))])[0].label
1
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unfooled.attacks import Answer, Asked, Gradients
from unfooled.lexicon.tagger import Tag
from unfooled.words.document import Document

WEIGHTS = {
    "gorgeous": 2.0,
    "witty": 1.5,
    "great": 1.5,
    "wonderful": 1.0,
    "funny": 0.5,
    "dull": -2.0,
    "awful": -2.0,
    "boring": -1.5,
    "not": -0.2,
}

NEIGHBOURS = {
    "gorgeous": (("splendid", 0.9), ("wonderful", 0.85), ("lavish", 0.6)),
    "witty": (("clever", 0.95), ("funny", 0.9)),
    "great": (("grand", 0.9), ("wonderful", 0.85), ("large", 0.55)),
    "film": (("movie", 0.98), ("picture", 0.9)),
    "story": (("tale", 0.9), ("plot", 0.85)),
    "dull": (("drab", 0.9), ("boring", 0.88)),
    "long": (("lengthy", 0.9),),
    "new": (("fresh", 0.85),),
}
"""Synonyms with the cosines of imagined vectors; the true ones are used by the tests of the lexicon."""

ANTONYMS = {"long": ("short",), "new": ("old",), "great": ("awful",), "dull": ("gorgeous",)}

FILLINGS = ("new", "movie", "film", "quiet", "funny", "thing", "dull")

PARTS = {
    **dict.fromkeys(("gorgeous", "witty", "great", "long", "new", "old", "short", "awful", "dull"), "ADJ"),
    **dict.fromkeys(("splendid", "lavish", "clever", "funny", "grand", "large", "drab", "boring"), "ADJ"),
    **dict.fromkeys(("wonderful", "lengthy", "fresh", "quiet"), "ADJ"),
    **dict.fromkeys(("is", "was", "does", "did"), "AUX"),
    **dict.fromkeys(("works", "work", "made"), "VERB"),
    **dict.fromkeys(("it", "we", "they"), "PRON"),
    "not": "PART",
}


@dataclass
class KeywordVictim:
    """Positive where the weights of the known words add up to more than the bias."""

    labels: tuple[str, ...] = ("negative", "positive")
    randomised: bool = False
    bias: float = 0.25
    wrong: float = 0.0
    """Chance that an answer is turned around whatever the text says."""
    abstains_below: float = 0.0
    calls: list[int] = field(default_factory=list)
    seen: list[Asked] = field(default_factory=list)

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        self.calls.append(len(asked))
        self.seen += asked
        return [self.answer(one) for one in asked]

    def answer(self, asked: Asked) -> Answer:
        words = [word.casefold() for word in Document.of(*asked.query).words]
        total = sum(WEIGHTS.get(word, 0.0) for word in words) - self.bias
        positive = 1 / (1 + math.exp(-total))
        if self.wrong and random.Random(asked.key).random() < self.wrong:
            positive = 1 - positive
        scores = (1 - positive, positive)
        return Answer(scores, int(positive > 0.5), abstained=max(scores) < self.abstains_below)

    def gradients(self, items: Sequence[tuple[Asked, int]], *, draws: int) -> list[Gradients]:
        found = []
        for asked, _ in items:
            document = Document.of(*asked.query)
            rows = [[WEIGHTS.get(word.casefold(), 0.0), 0.0] for word in document.words]
            found.append(Gradients(np.array(rows).reshape(-1, 2), document.spans))
        return found

    def expected(self, asked: Sequence[Asked], *, draws: int) -> list[Answer]:
        return [self.answer(one) for one in asked]

    def embedding(self, words: Sequence[str]) -> np.ndarray:
        return np.array([[WEIGHTS.get(word.casefold(), 0.0), 0.0] for word in words])


class FewNeighbours:
    """Word vectors that know the words of ``NEIGHBOURS``."""

    def neighbours(self, word: str, count: int, min_cosine: float) -> tuple[tuple[str, float], ...]:
        found = NEIGHBOURS.get(word.casefold(), ())
        return tuple(pair for pair in found if pair[1] >= min_cosine)[:count]


def tags(texts: Sequence[str]) -> list[tuple[Tag, ...]]:
    """Parts of speech from ``PARTS``; every other word is a noun."""
    documents = [Document.of(text) for text in texts]
    return [
        tuple(
            Tag(start, end, PARTS.get(word.casefold(), "NOUN"))
            for word, (_, start, end) in zip(document.words, document.spans, strict=True)
        )
        for document in documents
    ]


def similarity(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """1 for equal texts, lower the more words differ, never below 0.9."""
    found = []
    for first, second in pairs:
        before, after = first.split(), second.split()
        differing = sum(a != b for a, b in zip(before, after, strict=False)) + abs(len(before) - len(after))
        found.append(1.0 - 0.1 * differing / max(1, len(before), len(after)))
    return found


def fill(spans: Sequence[tuple[str, int, int]], *, count: int) -> list[list[str]]:
    return [list(FILLINGS[:count]) for _ in spans]


def services(victim: KeywordVictim) -> dict[str, Any]:
    """Everything an attack may ask for."""
    return {
        "victim": victim.answers,
        "gradients": victim.gradients,
        "expected": victim.expected,
        "embedding": victim.embedding,
        "tags": tags,
        "similarity": similarity,
        "fill": fill,
    }
