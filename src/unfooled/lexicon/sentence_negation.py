"""Adding or removing the negation of one verb, as edits of words.

«is» ↔ «is not» ↔ «isn't», «can't» → «can», «likes» ↔ «does not like» ↔ «doesn't like», also in text whose
contractions are written apart («does n't like»). Only verbs: «not a film» and «never» are left alone. A verb
of doubtful form (a past tense that may be a participle) is negated only after what can be its subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from unfooled.lexicon.inflection import inflected

Edits = dict[int, str]
"""What each word becomes, by number; an empty string deletes the word."""

_CONTRACTED = {
    "is": "isn't",
    "are": "aren't",
    "was": "wasn't",
    "were": "weren't",
    "do": "don't",
    "does": "doesn't",
    "did": "didn't",
    "has": "hasn't",
    "have": "haven't",
    "had": "hadn't",
    "can": "can't",
    "could": "couldn't",
    "will": "won't",
    "would": "wouldn't",
    "should": "shouldn't",
    "must": "mustn't",
    "might": "mightn't",
    "shall": "shan't",
    "am": "",
    "may": "",
}
"""The finite auxiliaries with their negative contraction, where there is one."""

_EXPANDED = {contracted: plain for plain, contracted in _CONTRACTED.items() if contracted} | {"cannot": "can"}
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
"""What stands before a separate «n't»."""

_ENDINGS = ("s", "m", "re", "ve", "ll", "d")
_SUBJECTS = ("i", "you", "he", "she", "it", "we", "they", "that", "there", "this", "who", "what", "here")
_JOINED = frozenset(f"{subject}'{ending}" for subject in _SUBJECTS for ending in _ENDINGS)
"""«it's», «they're»: a subject and an auxiliary in one word."""

_DO = {"do": "VBP", "does": "VBZ", "did": "VBD"}
_MAIN_VERB_TOO = frozenset({*_DO, "has", "have", "had"})
_PLURAL_SUBJECTS = frozenset({"i", "you", "we", "they", "these", "those"})
_PERSONAL = frozenset({"i", "you", "he", "she", "it", "we", "they"})


def negations(words: Sequence[str], pos: Sequence[str | None]) -> list[Edits]:
    """Every way to add or remove one verb negation; ``pos`` are the words' universal parts of speech.

    >>> negations(["It", "works"], ["PRON", "VERB"])
    [{1: 'does not work'}, {1: "doesn't work"}]
    >>> negations(["It", "doesn't", "work"], ["PRON", "AUX", "VERB"])
    [{1: '', 2: 'works'}]
    """
    lower = [word.lower().replace("’", "'") for word in words]
    edits: list[Edits] = []
    for number in range(len(words)):
        removed = _removed(lower, pos, number)
        if removed is None:
            edits += _added(lower, pos, number)
        elif removed:
            edits.append(_with_capital(removed, words))
    if any("’" in word for word in words):
        edits = [{place: word.replace("'", "’") for place, word in edit.items()} for edit in edits]
    return edits


def _removed(words: list[str], pos: Sequence[str | None], number: int) -> Edits | None:
    """The edits that take away the negation of the auxiliary at ``number``; None if it has none.

    Empty for a word that is part of a negation but not its auxiliary.
    """
    word = words[number]
    following = words[number + 1] if number + 1 < len(words) else ""
    if word in ("not", "n't"):
        return {}
    if word in _EXPANDED:
        plain, edits = _EXPANDED[word], {number: _EXPANDED[word]}
        after = number + 1
    elif following == "n't" and (word in _CONTRACTED or word in _STEMS):
        plain = _STEMS.get(word, word)
        edits = ({number: plain} if plain != word else {}) | {number + 1: ""}
        after = number + 2
    elif following == "not" and (word in _CONTRACTED or word in _ENDINGS or word in _JOINED):
        plain, edits, after = word, {number + 1: ""}, number + 2
    else:
        return None
    if plain not in _DO:
        return edits
    verb = _past_adverbs(words, pos, after, step=1)
    if verb is None or pos[verb] not in ("VERB", "AUX") or words[verb] not in _lemmas(words[verb]):
        return edits
    gone = dict.fromkeys((number, *edits), "")
    if words[verb] == "be":
        return gone
    return gone | {verb: inflected(words[verb], "VERB", _DO[plain]) or words[verb]}


def _added(words: list[str], pos: Sequence[str | None], number: int) -> list[Edits]:
    """The edits that negate the verb at ``number``: in full and contracted."""
    word = words[number]
    apart = "n't" in words
    if word in _JOINED or (word in _ENDINGS and pos[number] == "AUX"):
        return [{number: f"{word} not"}]
    if word in _CONTRACTED and (word not in _MAIN_VERB_TOO or _helps(words, pos, number)):
        if pos[number] not in ("AUX", "VERB"):
            return []
        # «is he» turns into «isn't he», not into «is not he».
        question = number + 1 < len(words) and words[number + 1] in _PERSONAL
        full = [] if question else [{number: f"{word} not"}]
        return full + [{number: _contraction(word, apart)}] * bool(_CONTRACTED[word])
    if pos[number] not in ("AUX", "VERB"):
        return []
    form = _finite_form(words, pos, number)
    if form is None:
        return []
    lemma, tag = form
    do = next(do for do, its_tag in _DO.items() if its_tag == tag)
    return [{number: f"{do} not {lemma}"}, {number: f"{_contraction(do, apart)} {lemma}"}]


def _finite_form(words: list[str], pos: Sequence[str | None], number: int) -> tuple[str, str] | None:
    """Lemma and tag (VBZ, VBD, VBP) of a verb that stands without an auxiliary; None if it is not finite."""
    word = words[number]
    before = _past_adverbs(words, pos, number - 1, step=-1)
    subject = before is not None and pos[before] in ("PRON", "NOUN", "PROPN")
    for lemma in _lemmas(word):
        if word != lemma and word in _forms(lemma, "VBZ"):
            return lemma, "VBZ"
        if _governed(words, pos, number):
            continue
        if word in _forms(lemma, "VBD") and word != lemma:
            passive = number + 1 < len(words) and words[number + 1] == "by"
            if word not in _forms(lemma, "VBN") or (subject and not passive):
                return lemma, "VBD"
        if word == lemma and subject and before is not None:
            plural = pos[before] == "NOUN" and words[before].endswith("s")
            if words[before] in _PLURAL_SUBJECTS or plural:
                return lemma, "VBP"
    return None


def _helps(words: list[str], pos: Sequence[str | None], number: int) -> bool:
    """Whether a form of «have» or «do» is an auxiliary here: a verb follows it, and none governs it."""
    following = _past_adverbs(words, pos, number + 1, step=1)
    if following is not None and words[following] in _PERSONAL:
        following = _past_adverbs(words, pos, following + 1, step=1)
    verb = following is not None and pos[following] in ("VERB", "AUX")
    return verb and not _governed(words, pos, number)


def _governed(words: list[str], pos: Sequence[str | None], number: int) -> bool:
    """Whether an auxiliary or «to» before the verb makes it an infinitive or a participle."""
    before = _past_adverbs(words, pos, number - 1, step=-1)
    while before is not None and words[before] in ("not", "n't"):
        before = _past_adverbs(words, pos, before - 1, step=-1)
    if before is not None and words[before] in _PERSONAL:
        before = _past_adverbs(words, pos, before - 1, step=-1)
    if before is None:
        return False
    word = words[before]
    return (
        word in ("to", "be", "been", "being")
        or word in _CONTRACTED
        or word in _EXPANDED
        or word in _STEMS
        or word in _JOINED
        or (word in _ENDINGS and pos[before] == "AUX")
    )


def _past_adverbs(words: list[str], pos: Sequence[str | None], number: int, *, step: int) -> int | None:
    """The first word from ``number`` on that is no adverb."""
    while 0 <= number < len(words):
        if pos[number] != "ADV":
            return number
        number += step
    return None


def _contraction(word: str, apart: bool) -> str:
    contracted = _CONTRACTED[word]
    return f"{contracted[:-3]} n't" if apart else contracted


def _with_capital(edits: Edits, words: Sequence[str]) -> Edits:
    """A deleted first word leaves its capital to the word that follows."""
    first = min(edits)
    following = next((number for number in range(first, len(words)) if edits.get(number) != ""), None)
    if edits[first] or following is None or not words[first][:1].isupper():
        return edits
    heir = edits.get(following, words[following])
    return edits | {following: heir[:1].upper() + heir[1:]}


@lru_cache(maxsize=4096)
def _lemmas(word: str) -> tuple[str, ...]:
    """The verbs that ``word`` may be a form of."""
    from lemminflect import getAllLemmas

    return tuple(getAllLemmas(word, upos="VERB").get("VERB", ()))


@lru_cache(maxsize=4096)
def _forms(lemma: str, tag: str) -> tuple[str, ...]:
    from lemminflect import getInflection

    return tuple(getInflection(lemma, tag=tag))
