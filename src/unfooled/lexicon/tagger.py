"""Coarse part of speech of every token of a text, by spaCy's small English pipeline.

Only what coarse tags need is loaded, once a process: tok2vec and tagger; the attribute ruler's answer
depends on the fine tag and the word alone and is looked up. Tags carry character spans, so that a
text may be tokenised in any way. docs/lexicon.md has the speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from unfooled import assets
from unfooled.lexicon.recent import Recent

_BATCH = 256
_CACHED_TEXTS = 50_000
_COARSER = {"PROPN": "NOUN", "AUX": "VERB"}


class Tag(NamedTuple):
    """The universal part of speech (NOUN, VERB, ADJ, …) of ``text[start:end]``."""

    start: int
    end: int
    pos: str


class Tagger:
    """spaCy's tagger with exact character spans and a cache of the texts seen last.

    >>> load_tagger().tags(["it 's witty"])
    [(Tag(start=0, end=2, pos='PRON'), Tag(start=3, end=5, pos='AUX'), Tag(start=6, end=11, pos='ADJ'))]
    """

    def __init__(self) -> None:
        import spacy
        from thinc.api import NumpyOps

        unneeded = ["parser", "ner", "senter", "lemmatizer"]
        self._nlp = spacy.load(assets.path("tagger"), exclude=unneeded, disable=["attribute_ruler"])
        # NumPy's matrix product takes a third of the time that spaCy's own (BLIS) takes.
        fast = NumpyOps(use_blis=False)
        for name in self._nlp.pipe_names:
            for node in self._nlp.get_pipe(name).model.walk():  # type: ignore[attr-defined]
                node.ops = fast
        self._rules = dict(self._nlp.components)["attribute_ruler"]
        self._coarse: dict[tuple[int, int], str] = {}
        self._recent: Recent[tuple[Tag, ...]] = Recent(_CACHED_TEXTS)

    def tags(self, texts: Sequence[str]) -> list[tuple[Tag, ...]]:
        """The tags of each text, in order; a run of extra space is a token with POS SPACE."""
        known: dict[str, tuple[Tag, ...]] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            found = self._recent.get(text)
            if found is None:
                missing.append(text)
            else:
                known[text] = found
        for text, doc in zip(missing, self._nlp.pipe(missing, batch_size=_BATCH), strict=True):
            known[text] = tuple(Tag(word.idx, word.idx + len(word), self._pos(word)) for word in doc)
            self._recent.put(text, known[text])
        return [known[text] for text in texts]

    def _pos(self, word: Any) -> str:
        """What the attribute ruler makes of a token; without a parse it sees the fine tag and the word."""
        key = (word.tag, word.orth)
        pos = self._coarse.get(key)
        if pos is None:
            from spacy.tokens import Doc

            alone = Doc(self._nlp.vocab, words=[word.text], spaces=[False], tags=[word.tag_])
            pos = self._coarse[key] = self._rules(alone)[0].pos_ or "X"
        return pos


@lru_cache(maxsize=1)
def load_tagger() -> Tagger:
    """The tagger, loaded at the first call and shared by all later ones."""
    return Tagger()


def pos_of_span(tags: Sequence[Tag], start: int, end: int) -> str | None:
    """The part of speech of the token that shares most characters with the span; None if none does.

    The first of equals. A word that spaCy splits («can't») is tagged by its longest part.
    """
    best, most = None, 0
    for tag in tags:
        shared = min(tag.end, end) - max(tag.start, start)
        if shared > most and tag.pos != "SPACE":
            best, most = tag.pos, shared
    return best


def same_coarse_pos(a: str | None, b: str | None) -> bool:
    """Whether one word may stand for the other: equal, with PROPN taken as NOUN and AUX as VERB.

    An unknown part of speech equals nothing.
    """
    return a is not None and b is not None and _COARSER.get(a, a) == _COARSER.get(b, b)
