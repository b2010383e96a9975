"""Single-word changes of a text measured against its certificate: substitutes it covers, antonyms it ignores.

Each changed text is tokenised as a whole; one with as many tokens as the original lies at the distance of
their embeddings. An antonym inside the certified threat is a change of meaning that the answer is certified
to ignore: certified accuracy alone would count that as robustness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unfooled.certify.certificate import CERTIFIED, Certificate
from unfooled.certify.words import distances, words_covered
from unfooled.lexicon.substitution import WORD, SubstitutionTable
from unfooled.run.certify_threat import embedding_table

if TYPE_CHECKING:
    from unfooled.models import Encoded
    from unfooled.predict import Classifier

EXAMPLES = 3


@dataclass(frozen=True)
class Swap:
    """One word replaced by another, and the texts that gives."""

    place: int
    before: str
    after: str
    texts: tuple[str, ...]


class WordReader:
    """Reads certificates as words."""

    def __init__(
        self,
        classifier: Classifier,
        *,
        substitutes: SubstitutionTable | None,
        antonyms: Callable[[str], tuple[str, ...]] | None,
    ) -> None:
        self._text = classifier.text
        self._table = embedding_table(classifier.text)
        self._substitutes, self._antonyms = substitutes, antonyms

    def read(self, certificate: Certificate, encoded: Encoded) -> Certificate:
        """The certificate with its words: those it covers (l2) and the antonyms inside it."""
        if certificate.status != CERTIFIED:
            return certificate
        found = certificate
        if certificate.threat == "l2" and self._substitutes is not None:
            moves = self._largest_moves(encoded, self._substitutes)
            found = replace(
                found,
                words_covered=words_covered(moves, certificate.radius),
                words_substitutable=len(moves),
            )
        if self._antonyms is not None:
            found = self._with_antonyms(found, encoded, self._antonyms)
        return found

    def _largest_moves(self, encoded: Encoded, table: SubstitutionTable) -> list[float]:
        """For each word with substitutes of as many tokens, the largest distance to one of them."""
        swaps = list(swapped(encoded.texts, table.allowed))
        largest: dict[int, float] = {}
        for swap, distance in zip(swaps, self._distances(encoded, swaps, "l2"), strict=True):
            if distance is not None:
                largest[swap.place] = max(largest.get(swap.place, 0.0), distance)
        return list(largest.values())

    def _with_antonyms(
        self, certificate: Certificate, encoded: Encoded, antonyms: Callable[[str], tuple[str, ...]]
    ) -> Certificate:
        swaps = list(swapped(encoded.texts, antonyms))
        threat, radius = certificate.threat, certificate.radius
        if threat == "words":
            inside = [swap for swap in swaps if radius >= 1]
        elif threat == "synonyms":
            assert self._substitutes is not None
            allowed = self._substitutes.allowed
            inside = [swap for swap in swaps if radius >= 1 and swap.after.lower() in allowed(swap.before)]
        else:
            far = self._distances(encoded, swaps, threat)
            inside = [
                swap for swap, away in zip(swaps, far, strict=True) if away is not None and away <= radius
            ]
        return replace(
            certificate,
            antonyms_inside=len(inside),
            antonyms_considered=len(swaps),
            antonym_examples=tuple((swap.before, swap.after) for swap in inside[:EXAMPLES]),
        )

    def _distances(self, encoded: Encoded, swaps: list[Swap], norm: str) -> list[float | None]:
        """How far each changed text lies; None if it has another number of tokens."""
        if not swaps:
            return []
        pairs = [swap.texts[1] for swap in swaps] if len(encoded.texts) == 2 else None
        changed = self._text.encode([swap.texts[0] for swap in swaps], pairs)
        far: list[float | None] = []
        for item in changed:
            # Another number of tokens is another space; so is a text whose beginning alone was read.
            if len(item) != len(encoded) or item.type_ids != encoded.type_ids or item.truncated:
                far.append(None)
            else:
                far.append(float(distances(self._table, encoded.ids, [item.ids], norm=norm)[0]))
        return far


def swapped(texts: tuple[str, ...], substitutes: Callable[[str], tuple[str, ...]]) -> Iterator[Swap]:
    """Every text with one word replaced by one of its substitutes, in the case of the word's first letter."""
    place = 0
    for which, text in enumerate(texts):
        for match in WORD.finditer(text):
            for other in substitutes(match[0]):
                after = other[:1].upper() + other[1:] if match[0][:1].isupper() else other
                changed = text[: match.start()] + after + text[match.end() :]
                yield Swap(place, match[0], after, (*texts[:which], changed, *texts[which + 1 :]))
            place += 1
