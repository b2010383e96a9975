"""WordNet 3.0 (Fellbaum 1998), read with NLTK: synonyms and antonyms of a word in the word's own form.

A synonym is a lemma of a synset of the word; «direct» antonyms are WordNet's own pairs. Words come out
lower case, in WordNet's order, and never as another form of the word that was asked for.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from unfooled import assets
from unfooled.lexicon import inflection, wordnet_files

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import Synset, WordNetCorpusReader

_CLASS = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}
_COARSE = {"n": "NOUN", "v": "VERB", "a": "ADJ", "s": "ADJ", "r": "ADV"}
# Which of WordNet's lemmas are single words. How a text is cut into words is another matter: words/word.py.
_ONE_WORD = re.compile(r"[^\W\d_]+(['-][^\W\d_]+)*")  # no digits: «9/11» and «2d» are no substitutes
_TEXTATTACK_WORD = re.compile(r"[^\W_][\w'\-*@]*")  # as TextAttack counts them, for its PWWS
_lock = threading.RLock()  # NLTK's reader seeks in shared files


@lru_cache(maxsize=65536)
def synonyms(word: str, pos: str | None = None, *, multiword: bool = False) -> tuple[str, ...]:
    """Lemmas that share a synset with ``word``, inflected like it; with ``multiword``, phrases too.

    ``pos`` is NOUN, VERB, ADJ, ADV or ``None`` for all of them; other classes have no synonyms.
    """
    with _lock:
        found = [
            (name.lower(), _COARSE[synset.pos()], own)
            for synset, own in _synsets(word, pos)
            for name in synset.lemma_names()
        ]
    return _in_form(word, found, multiword=multiword)


@lru_cache(maxsize=65536)
def raw_synonyms(word: str) -> tuple[str, ...]:
    """What TextAttack's PWWS substitutes: one-word lemma names of all synsets, as WordNet spells them."""
    with _lock:
        names = [name for synset in _reader().synsets(word) for name in synset.lemma_names()]
    return tuple(
        dict.fromkeys(
            name
            for name in names
            if name.lower() != word.lower() and "_" not in name and len(_TEXTATTACK_WORD.findall(name)) == 1
        )
    )


@lru_cache(maxsize=65536)
def antonyms(word: str, pos: str | None = None) -> tuple[str, ...]:
    """WordNet's antonyms of ``word``, inflected like it."""
    bases = inflection.lemmas(word)
    found = []
    with _lock:
        for synset, own in _synsets(word, pos):
            sources = [lemma for lemma in synset.lemmas() if lemma.name().lower() in bases]
            for source in sources:
                found += [(a.name().lower(), _COARSE[synset.pos()], own) for a in source.antonyms()]
    return _in_form(word, found, multiword=False)


def synonym_pairs() -> Iterator[tuple[str, str]]:
    """Every two single words of a synset, once per pair, in the order of WordNet's files."""
    return iter(dict.fromkeys((a.lemma, b.lemma) for a, b in wordnet_files.synonymous_senses()))


def _synsets(word: str, pos: str | None) -> list[tuple[Synset, bool]]:
    """The synsets of a word, each with whether the word is a lemma there rather than an inflected form."""
    inflection.check_pos(pos)
    if pos is not None and pos not in _CLASS:
        return []
    found = _reader().synsets(word, None if pos is None else _CLASS[pos])
    spelled = word.lower().replace(" ", "_")
    return [(synset, any(n.lower() == spelled for n in synset.lemma_names())) for synset in found]


def _in_form(word: str, found: list[tuple[str, str, bool]], *, multiword: bool) -> tuple[str, ...]:
    bases = inflection.lemmas(word)
    words: dict[str, None] = {}
    for name, pos, own in found:
        if _ONE_WORD.fullmatch(name):
            form = name if own else inflection.form_like(word, name, pos)
            if form is not None and bases.isdisjoint(inflection.lemmas(name) | inflection.lemmas(form)):
                words[form] = None
        elif multiword and all(_ONE_WORD.fullmatch(part) for part in name.split("_")):
            words[" ".join(_phrase_like(word, name.split("_"), None if own else pos))] = None
    return tuple(words)


def _phrase_like(word: str, parts: list[str], pos: str | None) -> list[str]:
    """A phrase inflected like ``word``: a verb at its first word, a noun at its last."""
    if pos == "VERB":
        return [inflection.same_form(word, parts[0], pos), *parts[1:]]
    if pos == "NOUN":
        return [*parts[:-1], inflection.same_form(word, parts[-1], pos)]
    return parts


@cache
def _reader() -> WordNetCorpusReader:
    import warnings

    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    folder = assets.path("wordnet")
    if str(folder) not in nltk.data.path:
        nltk.data.path.append(str(folder))  # NLTK opens only files below the folders listed there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other languages, which this WordNet does not hold
        return WordNetCorpusReader(str(folder / "corpora" / "wordnet"), None)
