"""A text as words, each with the tokens it has on its own, and inputs put together from some of them.

Words are what stands between white space. A word's tokens depend on that word alone (and on whether it comes
first, which byte-level vocabularies write differently), never on its neighbours. A hidden word is one mask
token whatever the word, or that place left empty, or it is left out without a trace: so an input is a
function of the words that are shown and, for masking, of their places. For masking only the first words are
taken, as many as the model could read if each had one token; how many depends on the number of words alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import compress

from unfooled.models import Encoded, TextModel
from unfooled.models.encoding import unknown_id

Tokens = tuple[int, ...]
Place = tuple[int, int, int]
"""Which text, first character, past the last character: as in ``Encoded.offsets``."""
_NOWHERE: Place = (0, 0, 0)
_WORD = re.compile(r"\S+")
"""What ``str.split`` finds, with its place."""
_EMPTY = -1
"""Stands for a hidden word until its place is left empty."""


@dataclass(frozen=True)
class WordTokens:
    """The words of one input (of both texts of a pair) as tokens."""

    words: tuple[tuple[str, ...], ...]
    """The words read of each text."""
    tokens: tuple[tuple[Tokens, ...], ...]
    """The tokens of each of them."""

    def __len__(self) -> int:
        """Words in all, T."""
        return sum(len(own) for own in self.words)


class WordAssembler:
    """Puts inputs of one model together from words."""

    def __init__(self, model: TextModel) -> None:
        self._model = model
        self._known: dict[str, Tokens] = {}
        self._inside: dict[str, tuple[tuple[int, int], ...]] = {}
        """Of each token of a word, its characters in the word."""
        self._frames: dict[int, _Frame] = {}

    def read_all(self, texts: Sequence[Sequence[str]]) -> list[tuple[tuple[str, ...], ...]]:
        """Every word of each input, however many the model reads; their tokens are learnt."""
        split = [tuple(tuple(text.split()) for text in own) for own in texts]
        words = {word for own in split for text in own for word in text}
        self._learn(words | {f" {word}" for word in words})
        return split

    def tokens(self, word: str, *, first: bool) -> Tokens:
        """The tokens of a word that was read before, as the first of its text or after a space."""
        return self._known[word if first else f" {word}"]

    def left(
        self, words: Sequence[Sequence[str]], kept: Sequence[bool] | bytes, places: Sequence[Place] = ()
    ) -> Encoded:
        """The input without the words that are not kept (one flag per word, through both texts).

        What stands here depends on the words that are left alone: nothing shows where others were. With
        ``places`` of the words, each token knows where in the text it came from; the model does not see that.
        """
        frame = self._frame(len(words))
        bodies: list[list[int]] = []
        origins: list[list[Place]] = []
        number = 0
        for own in words:
            body: list[int] = []
            origin: list[Place] = []
            flags = kept[number : number + len(own)]
            for word in compress(own, flags):
                body.extend(self._known[f" {word}" if body else word])
            if places:
                for word, place in compress(zip(own, places[number:], strict=False), flags):
                    origin += self._places(word, place, first=not origin)
            number += len(own)
            bodies.append(body)
            origins.append(origin)
        most = shared([len(body) for body in bodies], frame.room)
        return frame.around([body[:size] for body, size in zip(bodies, most, strict=True)], origins)

    def read(self, texts: Sequence[Sequence[str]]) -> list[WordTokens]:
        """The words of each input: a text, or two."""
        split = [tuple(tuple(text.split()) for text in own) for own in texts]
        for number, own in enumerate(split):
            room = self._frame(len(own)).room
            split[number] = tuple(
                words[:most]
                for words, most in zip(own, shared([len(words) for words in own], room), strict=True)
            )
        # Byte-level vocabularies write a word that follows a space differently from the first of a text.
        spelled = [
            [[word if place == 0 else f" {word}" for place, word in enumerate(words)] for words in own]
            for own in split
        ]
        self._learn({word for own in spelled for words in own for word in words})
        return [
            WordTokens(own, tuple(tuple(self._known[word] for word in words) for words in forms))
            for own, forms in zip(split, spelled, strict=True)
        ]

    def shown(
        self,
        words: WordTokens,
        kept: Collection[int],
        *,
        dropped: bool = False,
        places: Sequence[Place] = (),
    ) -> Encoded:
        """The input with the words of these numbers (counted through both texts), the others masked.

        ``dropped``: without the mask tokens; all other tokens keep the places that they have among them.
        With ``places`` of the words, each token knows where in the text it came from.
        """
        frame = self._frame(len(words.tokens))
        mask = _EMPTY if dropped else self._model.mask_token_id
        assert mask is not None
        bodies: list[list[int]] = []
        origins: list[list[Place]] = []
        number = 0
        for own in words.tokens:
            body: list[int] = []
            origin: list[Place] = []
            before = number
            for tokens in own:
                if number in kept:
                    body.extend(tokens)
                else:
                    body.append(mask)
                if places and number in kept:
                    word = words.words[len(bodies)][number - before]
                    origin += self._places(word, places[number], first=number == before)
                elif places:
                    origin.append(_NOWHERE)
                number += 1
            bodies.append(body)
            origins.append(origin)
        # Cut after masking: a hidden word takes one place, so it cannot push another one out.
        most = shared([len(body) for body in bodies], frame.room)
        whole = frame.around([body[:size] for body, size in zip(bodies, most, strict=True)], origins)
        return _without_empty_places(whole) if dropped else whole

    def _learn(self, words: Collection[str]) -> None:
        new = sorted(set(words) - self._known.keys())
        if not new:
            return
        tokenizer = self._model.tokenizer
        special, stand_in = set(tokenizer.all_special_ids), unknown_id(tokenizer)
        read = tokenizer(
            new, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=tokenizer.is_fast
        )
        for word, row in zip(new, read["input_ids"], strict=True):
            self._known[word] = tuple(stand_in if token in special else token for token in row)
        for word, spans in zip(new, read.get("offset_mapping", ()), strict=False):
            self._inside[word] = tuple(spans)

    def _places(self, word: str, place: Place, *, first: bool) -> list[Place]:
        """Where in the text each token of a word stands, of which ``place`` is that of the whole word."""
        form = word if first else f" {word}"
        which, start, end = place
        if form not in self._inside:  # a tokenizer that does not tell
            return [place] * len(self._known[form])
        shift = start - (len(form) - len(word))
        return [(which, max(start, shift + s), min(end, shift + e)) for s, e in self._inside[form]]

    def _frame(self, texts: int) -> _Frame:
        if texts not in self._frames:
            self._frames[texts] = _Frame.of(self._model, texts)
        return self._frames[texts]


@dataclass(frozen=True)
class _Frame:
    """The special tokens around one or two texts."""

    around_ids: tuple[Tokens, ...]
    """Before the first text, (between the two,) after the last."""
    around_types: tuple[Tokens, ...]
    text_types: tuple[int, ...]
    room: int
    """Tokens that are left for the texts."""

    @classmethod
    def of(cls, model: TextModel, texts: int) -> _Frame:
        (sample,) = model.encode(["a"], None if texts == 1 else ["a"])
        ids: list[list[int]] = [[]]
        types: list[list[int]] = [[]]
        own: list[int] = []
        last: int | None = None
        for token, kind, inside, (which, _, _) in zip(
            sample.ids, sample.type_ids, sample.maskable, sample.offsets, strict=True
        ):
            if not inside:
                ids[-1].append(token)
                types[-1].append(kind)
            elif which != last:
                ids.append([])
                types.append([])
                own.append(kind)
                last = which
        room = model.max_length - sum(len(part) for part in ids)
        return cls(tuple(map(tuple, ids)), tuple(map(tuple, types)), tuple(own), room)

    def around(self, bodies: Sequence[Sequence[int]], origins: Sequence[Sequence[Place]]) -> Encoded:
        """The special tokens around the bodies; ``origins`` are the places of their tokens, if known."""
        ids, types = list(self.around_ids[0]), list(self.around_types[0])
        offsets = [_NOWHERE] * len(ids)
        for number, body in enumerate(bodies):
            ids += [*body, *self.around_ids[number + 1]]
            types += [*[self.text_types[number]] * len(body), *self.around_types[number + 1]]
            offsets += origins[number][: len(body)]
            offsets += [_NOWHERE] * (len(ids) - len(offsets))
        return Encoded(
            ids=tuple(ids),
            type_ids=tuple(types),
            maskable=(False,) * len(ids),
            offsets=tuple(offsets),
        )


def _without_empty_places(item: Encoded) -> Encoded:
    positions = tuple(place for place, token in enumerate(item.ids) if token != _EMPTY)
    return Encoded(
        ids=tuple(item.ids[place] for place in positions),
        type_ids=tuple(item.type_ids[place] for place in positions),
        maskable=(False,) * len(positions),
        offsets=tuple(item.offsets[place] for place in positions),
        positions=positions,
    )


def word_places(texts: Sequence[str], words: Sequence[Sequence[str]]) -> list[Place]:
    """Where the ``words`` that were read of each text stand in it, one after the other."""
    found: list[Place] = []
    for which, (text, own) in enumerate(zip(texts, words, strict=True)):
        spans = (match.span() for match in _WORD.finditer(text))
        found += [(which, *span) for _, span in zip(own, spans, strict=False)]
    return found


def shared(lengths: Sequence[int], room: int) -> list[int]:
    """How much of each of one or two texts is read: the longer one is cut first."""
    if sum(lengths) <= room:
        return list(lengths)
    if len(lengths) == 1:
        return [room]
    first = min(lengths[0], max(room - lengths[1], room - room // 2))
    return [first, room - first]
