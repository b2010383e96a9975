"""Whether a perturbed text is still a fair reading of the original: similarity and part of speech.

Measured for every success of every recipe, whether or not the recipe itself asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.words.document import Document


@dataclass(frozen=True)
class Validity:
    similarity: float | None = None
    pos_valid: bool | None = None


def validity(attempt: Attempt, found: Document, services: Mapping[str, Any]) -> Steps[Validity]:
    """Similarity of the whole texts and whether every changed word kept its coarse part of speech.

    Words that became none or several (a negation) have no part of speech to keep.
    """
    similarity = pos_valid = None
    if "similarity" in services:
        pairs = list(zip(attempt.original.texts, found.texts, strict=True))
        similarity = min((yield from attempt.similarities(pairs)))
    if "tags" in services:
        from unfooled.lexicon.tagger import pos_of_span, same_coarse_pos

        tagged = yield from attempt.tags([*attempt.original.texts, *found.texts])
        before, after = tagged[: len(found.texts)], tagged[len(found.texts) :]
        kept = [
            same_coarse_pos(
                pos_of_span(before[change.which], change.start, change.end),
                pos_of_span(after[change.which], *found.spans[change.word][1:]),
            )
            for change in found.changes_from(attempt.original)
            if len(change.after.split()) == 1
        ]
        pos_valid = all(kept) if kept else None
    return Validity(similarity, pos_valid)
