"""A question and an answer made into a statement, by rules over words and their parts of speech.

>>> statement(["Where", "did", "Ann", "live"], ["ADV", "AUX", "PROPN", "VERB"], "in Rome")
'Ann lived in Rome.'

Jia & Liang's rules (2017) work on parses; these need the tagger alone. A question that no rule fits becomes
«The answer to …» with its own words, which reads badly but names the same things.
"""

from __future__ import annotations

from collections.abc import Sequence

from unfooled.lexicon import inflection

_WH = {"who", "whom", "whose", "what", "which", "when", "where", "why", "how"}
_BE = {"is", "are", "was", "were"}
_HELPERS = _BE | {"has", "have", "had", "can", "could", "will", "would", "shall", "should", "may", "might"}
_DO = {"did": "VBD", "does": "VBZ", "do": "VBP"}
_PREPOSITIONS = {"in", "on", "at", "to", "from", "for", "by", "with", "of", "during", "after", "under"}
_BETWEEN = {"when": "in", "where": "in", "why": "because of"}


def statement(words: Sequence[str], pos: Sequence[str | None], answer: str) -> str:
    """The statement that answers the question, without its question mark, by ``answer``."""
    lead, start = _leading_preposition(words)
    at = next((n for n, word in enumerate(words[start:], start) if word.lower() in _WH), None)
    if at is None:
        made = [answer, "is", "the", "answer", "to", *words]
    else:
        wh = words[at].lower()
        phrase_end = _phrase_end(words, pos, at)
        noun, rest = list(words[at + 1 : phrase_end]), list(words[phrase_end:])
        before = [] if lead else list(words[:at])
        own = _answer_phrase(wh, noun, answer, lead)
        made = _sentence(before, own, rest, pos[phrase_end:], moved=_BETWEEN.get(wh, "") if not lead else "")
    text = " ".join(part for part in made if part)
    return f"{text[:1].upper()}{text[1:]}."


def _leading_preposition(words: Sequence[str]) -> tuple[str, int]:
    """«In which …»: the preposition goes with the answer."""
    if len(words) > 1 and words[0].lower() in _PREPOSITIONS and words[1].lower() in _WH:
        return words[0].lower(), 1
    return "", 0


def _phrase_end(words: Sequence[str], pos: Sequence[str | None], at: int) -> int:
    """Past the words that belong to the question word: «which NFL team», «how many people»."""
    end = at + 1
    if words[at].lower() in ("what", "which", "whose", "how"):
        while end < len(words) and words[end].lower() not in _HELPERS | _DO.keys() and pos[end] != "VERB":
            end += 1
    return end


def _answer_phrase(wh: str, noun: Sequence[str], answer: str, lead: str) -> list[str]:
    if not noun:
        return [lead, answer]
    if wh == "how":  # how many people: twelve people; how long: twelve
        return [lead, answer, *(noun[1:] if noun[0].lower() in ("many", "much") else ())]
    return [lead, "the", *noun, "of", answer]


def _sentence(
    before: Sequence[str],
    answer: Sequence[str],
    rest: Sequence[str],
    pos: Sequence[str | None],
    *,
    moved: str,
) -> list[str]:
    """What is asked about is the subject («who won»), or what stands at the end («where did Ann live»)."""
    if not rest:
        return [*before, *answer]
    helper = rest[0].lower()
    if helper in _DO:
        verb = next((n for n in range(1, len(rest)) if pos[n] in ("VERB", "AUX") and n > 1), None)
        if verb is None:
            return [*before, *rest[1:], *_placed(moved, answer)]
        told = inflection.inflected(rest[verb].lower(), "VERB", _DO[helper]) or rest[verb]
        return [*before, *rest[1:verb], told, *rest[verb + 1 :], *_placed(moved, answer)]
    if moved and helper in _HELPERS:  # «when was Ann born»: Ann was born in …
        verb = next((n for n in range(2, len(rest)) if pos[n] in ("VERB", "ADJ")), len(rest))
        return [*before, *rest[1:verb], rest[0], *rest[verb:], *_placed(moved, answer)]
    return [*before, *answer, *rest]


def _placed(moved: str, answer: Sequence[str]) -> list[str]:
    own = [part for part in answer if part]
    begun = bool(own) and own[0].lower().split()[0] in _PREPOSITIONS
    return own if begun or not moved else [moved, *own]
