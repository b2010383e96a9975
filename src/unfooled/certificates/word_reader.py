"""Single-word changes of a text measured against its certificate: substitutes it covers, antonyms it ignores.

Each changed text is tokenised as a whole; one with as many tokens as the original lies at the distance of
their embeddings. An antonym inside the certified threat is a change of meaning that the answer is certified
to ignore: certified accuracy alone would count that as robustness.

Several substitutions move a text by the root of the sum of their squares only if each changes tokens of its
own. Tokenizers may join what stands between two spaces, so one word per chunk is counted; a change that
reaches tokens of another chunk covers nothing, nor does any with a tokenizer that joins over spaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unfooled.certificates.distances import distances, words_covered
from unfooled.certificates.split_at_spaces import SpaceSplit
from unfooled.lexicon.substitution import SubstitutionTable
from unfooled.models import as_text, as_texts
from unfooled.records.certificate import CERTIFIED, Certificate
from unfooled.words.word import WORD, in_case_of

if TYPE_CHECKING:
    from unfooled.models import Encoded, EncodedInput, Model


EXAMPLES = 3
NEGATIONS = {"no", "not", "never", "nor", "neither", "nothing", "nobody", "none", "cannot", "without"}
"""Words whose deletion takes a negation away."""
PUNCTUATION = ".,;:!?\"'’()[]"
Chunk = tuple[int, int, int]
"""(which text, first character, past the last) of what stands between two spaces."""


@dataclass(frozen=True)
class Swap:
    """One word replaced by another, and the texts that gives."""

    chunk: Chunk
    before: str
    after: str
    texts: tuple[str, ...]


class WordReader:
    """Reads certificates as words."""

    def __init__(
        self,
        model: Model,
        *,
        substitutes: SubstitutionTable | None,
        antonyms: Callable[[str], tuple[str, ...]] | None,
    ) -> None:
        self._model = model
        self._substitutes, self._antonyms = substitutes, antonyms

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        return as_text(self._model).embedding_table()

    @cached_property
    def _split(self) -> SpaceSplit:
        return SpaceSplit(as_text(self._model).tokenizer)

    def read(self, certificate: Certificate, item: EncodedInput) -> Certificate:
        """The certificate with its words: those it covers (l2) and the antonyms inside it."""
        (encoded,) = as_texts([item])
        if certificate.status != CERTIFIED:
            return certificate
        found = certificate
        if certificate.threat == "l2" and self._substitutes is not None:
            moves, reason = self.largest_moves(encoded), self._split.refusal(encoded)
            found = replace(
                found,
                words_covered=0 if reason else words_covered(moves, certificate.radius),
                words_substitutable=len(moves),
                message=reason,
            )
        if self._antonyms is not None:
            found = self._with_antonyms(found, encoded, self._antonyms)
            if certificate.threat == "edits":
                found = replace(found, negations_inside=_negations(encoded) if certificate.radius >= 1 else 0)
        return found

    def largest_moves(self, encoded: Encoded) -> list[float]:
        """For each chunk with a word that has substitutes of as many tokens, the largest distance to one."""
        assert self._substitutes is not None
        swaps = list(swapped(encoded.texts, self._substitutes.allowed, forms=written))
        largest: dict[Chunk, float] = {}
        for swap, item in zip(swaps, self._tokenised(encoded, swaps), strict=True):
            # A text that is cut may have lost or gained tokens where they are not seen.
            if item is not None and not item.truncated:
                inside = _stays(encoded, item, swap.chunk)
                distance = self._distance(encoded, item, "l2") if inside else math.inf
                largest[swap.chunk] = max(largest.get(swap.chunk, 0.0), distance)
        return list(largest.values())

    def _with_antonyms(
        self, certificate: Certificate, encoded: Encoded, antonyms: Callable[[str], tuple[str, ...]]
    ) -> Certificate:
        swaps = list(swapped(encoded.texts, antonyms))
        threat, radius = certificate.threat, certificate.radius
        if threat in ("words", "edits"):
            inside = [swap for swap in swaps if radius >= 1]
        elif threat == "synonyms":
            assert self._substitutes is not None
            allowed = self._substitutes.allowed
            inside = [swap for swap in swaps if radius >= 1 and swap.after.lower() in allowed(swap.before)]
        else:
            # What is read of a long text is its beginning, and that is what the certificate is about.
            inside = [
                swap
                for swap, item in zip(swaps, self._tokenised(encoded, swaps), strict=True)
                if item is not None and self._distance(encoded, item, threat) <= radius
            ]
        return replace(
            certificate,
            antonyms_inside=len(inside),
            antonyms_considered=len(swaps),
            antonym_examples=tuple((swap.before, swap.after) for swap in inside[:EXAMPLES]),
        )

    def _tokenised(self, encoded: Encoded, swaps: list[Swap]) -> list[Encoded | None]:
        """Each changed text; None if it has another number of tokens, which is another space."""
        if not swaps:
            return []
        pairs = [swap.texts[1] for swap in swaps] if len(encoded.texts) == 2 else None
        changed = as_text(self._model).encode([swap.texts[0] for swap in swaps], pairs)
        return [
            item if len(item) == len(encoded) and item.type_ids == encoded.type_ids else None
            for item in changed
        ]

    def _distance(self, encoded: Encoded, item: Encoded, norm: str) -> float:
        return float(distances(self._table, encoded.ids, [item.ids], norm=norm)[0])


def written(word: str, other: str) -> tuple[str, ...]:
    """The ways a substitute may be written: as it is listed, and in the case of the word."""
    return tuple(dict.fromkeys((other, in_case_of(word, other))))


def swapped(
    texts: tuple[str, ...],
    substitutes: Callable[[str], tuple[str, ...]],
    *,
    forms: Callable[[str, str], tuple[str, ...]] = lambda word, other: (in_case_of(word, other),),
) -> Iterator[Swap]:
    """Every text with one word replaced by one of its substitutes, in each of its ``forms``."""
    for which, text in enumerate(texts):
        for match in WORD.finditer(text):
            start = text.rfind(" ", 0, match.start()) + 1
            end = text.find(" ", match.end())
            chunk = which, start, len(text) if end < 0 else end
            for other in substitutes(match[0]):
                for after in forms(match[0], other):
                    changed = text[: match.start()] + after + text[match.end() :]
                    yield Swap(chunk, match[0], after, (*texts[:which], changed, *texts[which + 1 :]))


def _negations(encoded: Encoded) -> int:
    """How many words there are whose deletion alone takes a negation away."""
    words = [
        word.casefold().replace("’", "'").strip(PUNCTUATION)
        for text in encoded.texts
        for word in text.split()
    ]
    return sum(word in NEGATIONS or word.endswith("n't") for word in words)


def _stays(encoded: Encoded, item: Encoded, chunk: Chunk) -> bool:
    """Whether a changed text has other tokens only where the original has those of the chunk."""
    which, start, end = chunk
    for before, after, word, (text, first, last) in zip(
        encoded.ids, item.ids, encoded.maskable, encoded.offsets, strict=True
    ):
        # The space before a chunk belongs to it: many vocabularies write it into the first token.
        own = word and text == which and first < end and max(last, first + 1) > start - 1
        if before != after and not own:
            return False
    return True
