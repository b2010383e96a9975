"""Texts put together from some of their words, for models that read texts as they are: black boxes.

The words that are left are joined by single spaces, and a hidden word is the black box's mask token. So what
it is asked is a function of the words that are shown and, with masks, of their places, as
:mod:`.word_tokens` has it for models whose tokens are known. What the black box does with the text, cutting
it off included, comes after.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from unfooled.models import BlackBox, Model, as_text
from unfooled.models.black_box import PlainTexts
from unfooled.predictors.smoothing.word_tokens import WordAssembler, WordTokens

Words = tuple[tuple[str, ...], ...]
"""The words of each text of an input."""


class TextAssembler:
    """Puts texts for one black box together from words."""

    def __init__(self, model: BlackBox) -> None:
        self._mask = model.mask

    def read_all(self, texts: Sequence[Sequence[str]]) -> list[Words]:
        return [tuple(tuple(text.split()) for text in own) for own in texts]

    def read(self, texts: Sequence[Sequence[str]]) -> list[WordTokens]:
        return [WordTokens(own, ()) for own in self.read_all(texts)]

    def left(self, words: Sequence[Sequence[str]], kept: Sequence[bool] | bytes) -> PlainTexts:
        """The input without the words that are not kept (one flag per word, through both texts)."""
        flags = iter(kept)
        return PlainTexts(tuple(" ".join([word for word in own if next(flags)]) for own in words))

    def shown(self, words: WordTokens, kept: Collection[int], *, dropped: bool = False) -> PlainTexts:
        """The input with the words of these numbers (counted through both texts), the others masked."""
        assert self._mask is not None and not dropped  # a text has no places to leave empty
        texts, number = [], 0
        for own in words.words:
            texts.append(
                " ".join(word if place in kept else self._mask for place, word in enumerate(own, number))
            )
            number += len(own)
        return PlainTexts(tuple(texts))


def assembler_of(model: Model) -> WordAssembler | TextAssembler:
    """What puts inputs of this model together; models that read no texts are refused."""
    return TextAssembler(model) if isinstance(model, BlackBox) else WordAssembler(as_text(model))
