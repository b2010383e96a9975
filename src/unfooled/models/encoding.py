"""Texts as token ids: one :class:`Encoded` per input, and padded batches of them.

An ``Encoded`` knows which positions may be masked (never special tokens or padding) and which
characters each token came from, so that masked or salient tokens can be shown as words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from unfooled.errors import UsageError
from unfooled.hub.batches import pad
from unfooled.parsing import quoted

MAX_CHARACTERS = 1_000_000
"""Longer texts are refused: tokenising them would hold the machine for no gain past ``max_length``."""


@dataclass(frozen=True)
class Encoded:
    """One input as token ids, without padding."""

    ids: tuple[int, ...]
    type_ids: tuple[int, ...]
    maskable: tuple[bool, ...]
    """Positions that may be masked: not special tokens."""
    offsets: tuple[tuple[int, int, int], ...]
    """(which text: 0 or 1, first character, past the last character) of each token."""
    truncated: bool = False
    positions: tuple[int, ...] | None = None
    """The place of each token, from 0, where places between them are empty; None: one after another."""
    texts: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The text, or both texts of a pair, as they were given: what the tokens cannot tell any more."""

    def __len__(self) -> int:
        return len(self.ids)

    def key(self) -> tuple[int, ...]:
        """The token ids: all that the model reads of the text itself."""
        return self.ids

    def show(self) -> str:
        return " ⟷ ".join(self.texts)

    def excerpts(self, positions: Sequence[int]) -> list[tuple[str, tuple[int, int, int]]]:
        """The words that the tokens at these positions came from, with their places in the texts."""
        found = []
        for position in positions:
            which, start, end = self.offsets[position]
            found.append((self.texts[which][start:end], (which, start, end)))
        return found

    def with_masked(self, positions: Sequence[int], mask_id: int) -> Encoded:
        """A copy with the given positions replaced by the mask token."""
        ids = list(self.ids)
        for position in positions:
            ids[position] = mask_id
        return replace(self, ids=tuple(ids))


@dataclass(frozen=True)
class Batch:
    """Padded token ids on a device. ``ids``, ``mask``, ``maskable``: ``(rows, tokens)``."""

    ids: Tensor
    mask: Tensor
    type_ids: Tensor
    maskable: Tensor
    labels: Tensor | None = None
    positions: Tensor | None = None
    """The place of each token, from 0, if some row has empty places; None: one after another."""
    asked: Tensor | None = None
    """Of questions: the tokens of the question itself, ``(rows, tokens)``."""
    null: Tensor | None = None
    """Of questions: the position of each row that stands for no answer."""
    encoded: tuple[Encoded, ...] = ()
    """The inputs behind the rows, with their texts: for training that changes words. ``rows`` drops them."""

    def __len__(self) -> int:
        return self.ids.shape[0]

    @property
    def words(self) -> Tensor:
        """Tokens that are not special, those of a question too."""
        return self.maskable if self.asked is None else self.maskable | self.asked

    @property
    def noised(self) -> Tensor:
        """Tokens that noise is for: all but padding; of a question with its context, the context."""
        return self.mask if self.asked is None else self.maskable.to(self.mask.dtype)

    def to(self, device: torch.device | str) -> Batch:
        return replace(self._each(lambda value: value.to(device)), encoded=self.encoded)

    def rows(self, index: Tensor) -> Batch:
        """The given rows, in that order, repeated where they are named twice."""
        return self._each(lambda value: value[index])

    def _each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        return Batch(
            ids=change(self.ids),
            mask=change(self.mask),
            type_ids=change(self.type_ids),
            maskable=change(self.maskable),
            labels=None if self.labels is None else change(self.labels),
            positions=None if self.positions is None else change(self.positions),
            asked=None if self.asked is None else change(self.asked),
            null=None if self.null is None else change(self.null),
        )


def collate(
    encoded: Sequence[Encoded], *, pad_id: int, labels: Sequence[Any] | None = None, multiple_of: int = 1
) -> Batch:
    """Pad to the longest input of the batch (rounded up to ``multiple_of``), never to a fixed maximum."""
    spread_out = any(item.positions is not None for item in encoded)
    places = [range(len(item)) if item.positions is None else item.positions for item in encoded]
    return Batch(
        ids=pad([item.ids for item in encoded], pad_id, multiple_of=multiple_of),
        mask=pad([[1] * len(item) for item in encoded], 0, multiple_of=multiple_of),
        type_ids=pad([item.type_ids for item in encoded], 0, multiple_of=multiple_of),
        maskable=pad([item.maskable for item in encoded], False, multiple_of=multiple_of).bool(),
        labels=None if labels is None else torch.tensor(list(labels), dtype=torch.long),
        positions=pad(places, 0, multiple_of=multiple_of) if spread_out else None,
        encoded=tuple(encoded),
    )


def encode(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_length: int
) -> list[Encoded]:
    """Tokenise with truncation; the fast tokenizer's offsets give the words back."""
    if not texts:
        return []
    result = tokenizer(
        list(texts),
        None if pairs is None else list(pairs),
        truncation=True,
        max_length=max_length,
        # Text that spells «[SEP]» or «[MASK]» is text: nobody writes special tokens from outside.
        split_special_tokens=True,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_token_type_ids=True,
        return_attention_mask=False,
        return_overflowing_tokens=False,
    )
    # SentencePiece vocabularies hold their special tokens as pieces and find them in text all the same.
    spelt, stand_in = set(tokenizer.all_special_ids), unknown_id(tokenizer)
    encoded = []
    for index in range(len(texts)):
        backend = result.encodings[index]
        special = result["special_tokens_mask"][index]
        sequence_ids = backend.sequence_ids
        offsets = tuple(
            (0 if which is None else which, start, end)
            for which, (start, end) in zip(sequence_ids, result["offset_mapping"][index], strict=True)
        )
        encoded.append(
            Encoded(
                ids=tuple(
                    stand_in if token in spelt and not flag else token
                    for token, flag in zip(result["input_ids"][index], special, strict=True)
                ),
                type_ids=tuple(result["token_type_ids"][index]),
                maskable=tuple(not flag for flag in special),
                offsets=offsets,
                truncated=bool(backend.overflowing),
                texts=(texts[index],) if pairs is None else (texts[index], pairs[index]),
            )
        )
    return encoded


def encode_inputs(tokenizer: Any, inputs: Sequence[tuple[str, ...]], *, max_length: int) -> list[Encoded]:
    """Single texts or pairs, all inputs alike."""
    pairs = [own[1] for own in inputs] if inputs and len(inputs[0]) == 2 else None
    return encode(tokenizer, [own[0] for own in inputs], pairs, max_length=max_length)


def unknown_id(tokenizer: Any) -> int:
    """What stands for a special token that a text spells: the unknown token, or else an ordinary one."""
    if tokenizer.unk_token_id is not None:
        return int(tokenizer.unk_token_id)
    special = set(tokenizer.all_special_ids)
    return next(number for number in range(len(tokenizer)) if number not in special)


def checked_texts(first: Sequence[str], second: Sequence[str] | None = None) -> list[tuple[str, ...]]:
    """(text,) or (text, pair) of each input; lone surrogates, which cannot be tokenised, are replaced."""
    if isinstance(first, str) or isinstance(second, str):
        raise UsageError("predict takes a list of texts: put your text in brackets, predict([text]).")
    for given in (first, [] if second is None else second):
        if not (hasattr(given, "__iter__") and hasattr(given, "__len__")):
            raise UsageError(f"predict takes a list of texts, not {quoted(given)}.")
    columns = {"texts": first} | ({} if second is None else {"pairs": second})
    for name, values in columns.items():
        for index, value in enumerate(values):
            if not isinstance(value, str):
                raise UsageError(f"{name}[{index}] is {type(value).__name__}, not text.")
    if second is not None and len(second) != len(first):
        raise UsageError(f"{len(first)} texts but {len(second)} pairs: give one pair per text.")
    clean = [[_without_surrogates(text) for text in values] for values in columns.values()]
    return list(zip(*clean, strict=True))


def refusal(texts: Sequence[str]) -> str:
    """Why a text (or one of a pair) is not read; empty if it is."""
    for text in texts:
        if not text.strip():
            return "the text is empty"
        if len(text) > MAX_CHARACTERS:
            return f"the text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read"
    return ""


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
