"""Noise at the embeddings certifies only what reads nothing but the embeddings: checked before it is claimed.

The tokenizer first: no text may hold the ids by which a model finds the end of a text or the places of its
tokens. Then the model, on one text: other ids at the same embeddings must not move its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unfooled.errors import UsageError

if TYPE_CHECKING:
    from unfooled.models import Encoded, TextModel


def check_tokenizer(text: TextModel) -> None:
    """Refuse a tokenizer whose texts can hold the id by which the model tells padding from words."""
    from unfooled.models.ids import written_markers

    found = [str(text.tokenizer.convert_ids_to_tokens(number)) for number in written_markers(text)]
    if found:
        raise UsageError(
            f"A text can hold the token {', '.join(found)}, by which the model tells padding from words: "
            "unknown words become it, or it is an ordinary word. What is read then depends on more than the "
            "embeddings, and noise on them gives no certificate. Train with a tokenizer whose padding token "
            "is nothing else, or use --threat words or synonyms."
        )


def check_model(text: TextModel, item: Encoded) -> None:
    """Refuse a model that reads its token ids past the embeddings, as seen on this input."""
    from unfooled.models.ids import ids_matter

    if ids_matter(text, item):
        raise UsageError(
            f"This model ({text.module.config.model_type}) gives another answer for other token ids at the "
            "same embeddings: it reads its text on a second way, which noise on the embeddings does not "
            "cover. Use --threat words or synonyms."
        )


def marker_inside(text: TextModel, item: Encoded) -> str:
    """Why this input has no certificate at its embeddings: the padding token stands in it; empty if not."""
    if text.tokenizer.pad_token_id not in item.ids:
        return ""
    return "the padding token stands inside the text, and moves what the model reads at no distance"
