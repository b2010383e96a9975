"""Whether a tokenizer splits at spaces, so that words replaced in two chunks change tokens of their own.

A ball is read as words by measuring one replacement at a time. Tokens that reach over a space would let two
replacements together become other tokens, and another number of them, than each shows alone. So no token of
the vocabulary may hold a space after something else, and a text's chunks must, tokenised alone, make the
tokens of the whole.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unfooled.models import Encoded

JOINS = (
    "no words are covered: the tokenizer joins words over spaces (its token {token!r}), so two words "
    "that are replaced together may become other tokens than each alone"
)
DEPENDS = (
    "no words are covered: the words of this text, tokenised alone, do not make the tokens of the whole, so "
    "a replacement may change the tokens of another word"
)


class SpaceSplit:
    """What keeps a tokenizer's texts from being read word by word."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._joining = joining_token(tokenizer)
        self._alone = cache(self._tokens)

    def refusal(self, encoded: Encoded) -> str:
        """Why replacements in this text cannot be added up; empty if they can."""
        if self._joining is not None:
            return JOINS.format(token=self._joining)
        if encoded.truncated:
            return ""  # its beginning is what is read; a cut text covers nothing that is cut
        return "" if all(map(self._adds_up, encoded.texts)) else DEPENDS

    def _adds_up(self, text: str) -> bool:
        whole = self._tokens(text)
        first, *rest = text.split(" ")
        chunks = [self._alone(first), *(self._alone(f" {chunk}") for chunk in rest)]
        bare = [self._alone(first), *(self._alone(chunk) for chunk in rest)]
        return whole in (sum(chunks, ()), sum(bare, ()))

    def _tokens(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])


def joining_token(tokenizer: Any) -> str | None:
    """A token with a space after something that is none, as byte-level and SentencePiece write spaces."""
    byte_level = "ByteLevel" in tokenizer.backend_tokenizer.to_str()
    spaces, other_gaps = (" \u2581Ġ", "Ċĉč") if byte_level else (" \u2581", "")
    joins = re.compile(rf"[^\s{spaces}{other_gaps}][{spaces}]")
    return min((token for token in tokenizer.get_vocab() if joins.search(token)), default=None)
