"""A question and its context as token ids: one window, or several that overlap where the context is long.

Every window begins with the whole question. A token knows the characters it came from. Spans of tokens become
spans of characters that begin and end at whole characters as a reader sees them (a letter with its accents,
an emoji with its skin tone), without white space around them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unfooled.models.encoding import Encoded, unknown_id
from unfooled.models.model import Excerpt

AnswerSpan = tuple[int, int]
"""(first character, past the last) of an answer in the context."""
QUESTION, CONTEXT = 0, 1
"""Which text a token came from (``Encoded.offsets``)."""
_JOINER = "\u200d"


@dataclass(frozen=True)
class Window(Encoded):
    """The question and a part of the context. Only context tokens may be masked."""

    asked: tuple[bool, ...] = ()
    """Tokens of the question."""
    null: int = 0
    """The position that stands for no answer: ``[CLS]``, or the end where there is none."""
    begins: int = 0
    """The first character of the context that some window reads, …"""
    ends: int = 0
    """… and the one past the last."""

    def span(self, first: int, last: int) -> AnswerSpan:
        """The characters of the context that the tokens ``first`` to ``last`` came from."""
        return whole(self.texts[CONTEXT], self.offsets[first][1], self.offsets[last][2])

    def covering(self, span: AnswerSpan) -> tuple[int, int] | None:
        """The first and the last token of a span of the context; None if it is not all in this window."""
        own = [
            (position, start, end)
            for position, ((_, start, end), word) in enumerate(zip(self.offsets, self.maskable, strict=True))
            if word and end > start
        ]
        touched = [position for position, start, end in own if end > span[0] and start < span[1]]
        if not touched:
            return None
        context = self.texts[CONTEXT]
        before = own[0][1] > span[0] and context[span[0] : own[0][1]].strip()
        after = own[-1][2] < span[1] and context[own[-1][2] : span[1]].strip()
        # At the edge of a window the span goes on beyond it; at the edge of the context nothing does.
        if (before and own[0][1] > self.begins) or (after and own[-1][2] < self.ends):
            return None
        return touched[0], touched[-1]


@dataclass(frozen=True)
class EncodedQuestion:
    """A question and its context as the model reads them."""

    windows: tuple[Window, ...]
    texts: tuple[str, str] = field(compare=False, repr=False)
    truncated: bool = False
    """The question was longer than half a window; only its beginning is read."""

    def __len__(self) -> int:
        return sum(map(len, self.windows))

    def key(self) -> object:
        return tuple(window.ids for window in self.windows)

    def show(self) -> str:
        return " ⟷ ".join(self.texts)

    def excerpts(self, positions: Sequence[int]) -> list[Excerpt]:
        """What stands at these positions, counted on from window to window."""
        found: list[Excerpt] = []
        first = 0
        for window in self.windows:
            own = [position - first for position in positions if 0 <= position - first < len(window)]
            found += window.excerpts(own)
            first += len(window)
        return list(dict.fromkeys(found))


def whole(text: str, start: int, end: int) -> AnswerSpan:
    """The span without white space at its ends, grown to whole characters as a reader sees them."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while 0 < start < len(text) and (_continues(text[start]) or text[start - 1] == _JOINER):
        start -= 1
    while end < len(text) and end > start and (_continues(text[end]) or text[end - 1] == _JOINER):
        end += 1
    return start, end


def _continues(character: str) -> bool:
    """Whether a character belongs to the one before it: accents, joiners, variants, skin tones."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or character == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\ufe00" <= character <= "\ufe0f"
    )


def encode_questions(
    tokenizer: Any, texts: Sequence[tuple[str, str]], *, max_length: int, stride: int
) -> list[EncodedQuestion]:
    """Windows of at most ``max_length`` tokens; neighbours share ``stride`` tokens of the context.

    Where a question leaves little room, windows share half of it. How one question is cut does not depend on
    the others.
    """
    cut = [_beginning(tokenizer, question, max_length // 2) for question, _ in texts]
    room = [max_length - tokenizer.num_special_tokens_to_add(pair=True) - tokens for _, tokens in cut]
    shared = [max(0, min(stride, own // 2)) for own in room]
    found: dict[int, EncodedQuestion] = {}
    for overlap in sorted(set(shared)):
        places = [place for place, own in enumerate(shared) if own == overlap]
        pairs = [(cut[place][0], texts[place][CONTEXT]) for place in places]
        for place, windows in zip(places, _windows(tokenizer, pairs, max_length, overlap), strict=True):
            truncated = cut[place][0] != texts[place][QUESTION]
            found[place] = EncodedQuestion(windows, texts[place], truncated)
    return [found[place] for place in range(len(texts))]


def _beginning(tokenizer: Any, question: str, most: int) -> tuple[str, int]:
    """The question, cut after so many tokens if it is longer; and how many tokens are read of it."""
    result = tokenizer(
        question, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True
    )
    tokens = len(result["input_ids"])
    if tokens <= most:
        return question, tokens
    kept = question[: result["offset_mapping"][most - 1][1]]
    again = tokenizer(kept, add_special_tokens=False, split_special_tokens=True)
    return kept, len(again["input_ids"])


def _windows(
    tokenizer: Any, pairs: Sequence[tuple[str, str]], max_length: int, stride: int
) -> list[tuple[Window, ...]]:
    result = tokenizer(
        [question for question, _ in pairs],
        [context for _, context in pairs],
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        split_special_tokens=True,  # text that spells «[SEP]» is text
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_token_type_ids=True,
        return_attention_mask=False,
    )
    spelt, stand_in = set(tokenizer.all_special_ids), unknown_id(tokenizer)
    found: list[list[Window]] = [[] for _ in pairs]
    for index, owner in enumerate(result["overflow_to_sample_mapping"]):
        special = result["special_tokens_mask"][index]
        which = result.encodings[index].sequence_ids
        ids = result["input_ids"][index]
        null = [position for position, token in enumerate(ids) if token == tokenizer.cls_token_id]
        found[owner].append(
            Window(
                ids=tuple(
                    stand_in if token in spelt and not flag else token
                    for token, flag in zip(ids, special, strict=True)
                ),
                type_ids=tuple(result["token_type_ids"][index]),
                maskable=tuple(own == CONTEXT and not flag for own, flag in zip(which, special, strict=True)),
                offsets=tuple(
                    (own or 0, start, end)
                    for own, (start, end) in zip(which, result["offset_mapping"][index], strict=True)
                ),
                texts=pairs[owner],
                asked=tuple(own == QUESTION and not flag for own, flag in zip(which, special, strict=True)),
                null=null[0] if null else len(ids) - 1,
            )
        )
    return [_with_edges(windows) for windows in found]


def _with_edges(windows: Sequence[Window]) -> tuple[Window, ...]:
    read = [
        (start, end)
        for window in windows
        for (_, start, end), word in zip(window.offsets, window.maskable, strict=True)
        if word
    ]
    begins, ends = min((start for start, _ in read), default=0), max((end for _, end in read), default=0)
    return tuple(replace(window, begins=begins, ends=ends) for window in windows)
