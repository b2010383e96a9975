"""What an input is called, by the kind of model that reads it: one noun in all messages and on all pages."""

from __future__ import annotations

from collections.abc import Iterable

NOUN = {"text": "text", "image": "image", "question": "question", "tensor": "input"}
"""By :attr:`unfooled.models.Model.kind`."""


def things(kinds: Iterable[str]) -> str:
    """``texts``, ``images``; ``inputs`` where several kinds stand together."""
    nouns = {NOUN.get(kind, "input") for kind in kinds}
    return f"{nouns.pop() if len(nouns) == 1 else 'input'}s"
