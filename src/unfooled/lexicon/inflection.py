"""Inflecting one word like another: movies, film → films; ran, walk → walked; better, bad → worse.

lemminflect (Jascob 2020) knows the lemmas and Penn tags of a word and the forms of a lemma. Adjectives
and adverbs without a comparative of their own get none: «excellenter» is not a word. A past form is read
as the past tense where the participle differs, since there is no context to tell.
"""

from __future__ import annotations

from functools import lru_cache

from unfooled.errors import UsageError

COARSE = ("NOUN", "VERB", "ADJ", "ADV")
_OTHERS = {"ADP", "AUX", "CCONJ", "DET", "INTJ", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "X"}
_OTHERS.add("SPACE")
_BASE = {"NOUN": "NN", "VERB": "VB", "ADJ": "JJ", "ADV": "RB"}
# In the order in which an ambiguous form is read.
_INFLECTED = {
    "NOUN": ("NNS",),
    "VERB": ("VBZ", "VBG", "VBD", "VBN"),
    "ADJ": ("JJR", "JJS"),
    "ADV": ("RBR", "RBS"),
}


def same_form(word: str, lemma: str, pos: str | None) -> str:
    """``lemma`` inflected like ``word``, as a word of class ``pos``; unchanged where no form is known."""
    return form_like(word, lemma, pos) or lemma


def form_like(word: str, lemma: str, pos: str | None) -> str | None:
    """As :func:`same_form`, but ``None`` where English has no such form («better» of «excellent»)."""
    check_pos(pos)
    word = word.lower()
    if pos is None:
        tags = [(p, tag) for p in COARSE if (tag := tag_of(word, p)) and forms(lemma, p)]
        if not tags or any(tag in _BASE.values() for _, tag in tags):
            return lemma
        return inflected(lemma, *tags[0])
    tag = tag_of(word, pos)
    return lemma if tag is None else inflected(lemma, pos, tag)


@lru_cache(maxsize=65536)
def inflected(lemma: str, pos: str, tag: str) -> str | None:
    """The form of ``lemma`` with a Penn tag, by the regular rule where no form is listed."""
    if tag == _BASE[pos]:
        return lemma
    known = forms(lemma, pos)
    if tag in known or pos in ("ADJ", "ADV"):
        return known.get(tag)
    from lemminflect import getAllInflectionsOOV

    regular = getAllInflectionsOOV(lemma, upos=pos).get(tag)
    return regular[0] if regular else None


@lru_cache(maxsize=65536)
def forms(lemma: str, pos: str) -> dict[str, str]:
    """The listed forms of ``lemma`` by Penn tag; empty if it is no known word of that class."""
    from lemminflect import getAllInflections

    listed = {tag: spellings[0] for tag, spellings in getAllInflections(lemma, upos=pos).items()}
    if "VBD" in listed:
        listed.setdefault("VBN", listed["VBD"])  # left out of the table where they are the same
    return listed


@lru_cache(maxsize=65536)
def tag_of(word: str, pos: str) -> str | None:
    """The Penn tag of a lower-case ``word`` as ``pos``, or ``None`` if it is unknown as such."""
    if pos not in _BASE:
        return None
    from lemminflect import getAllInflections, getAllLemmas

    for lemma in getAllLemmas(word, upos=pos).get(pos, ()):
        if lemma == word:
            return _BASE[pos]
        listed = getAllInflections(lemma, upos=pos)
        for tag in _INFLECTED[pos]:
            if word in listed.get(tag, ()):
                return tag
    return None


@lru_cache(maxsize=65536)
def lemmas(word: str) -> frozenset[str]:
    """The word itself and every lemma it may be a form of, lower case."""
    from lemminflect import getAllLemmas

    word = word.lower()
    return frozenset({word}.union(*getAllLemmas(word).values()))


def check_pos(pos: str | None) -> None:
    """Refuse what is no universal part of speech."""
    if pos is not None and pos not in COARSE and pos not in _OTHERS:
        raise UsageError(
            f"There is no part of speech {pos!r}. Use one of {', '.join(COARSE)}, or None for all."
        )
