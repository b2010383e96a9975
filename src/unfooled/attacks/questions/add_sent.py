"""AddSent: a sentence that answers another question, added to the context (Jia & Liang, EMNLP 2017).

The question is changed, so that it asks something else: nouns and adjectives become antonyms (WordNet), names
become near names (nearest vectors) and numbers other numbers. It gets a fake answer of the right answer's
type, and both become a statement, which is put at the end of the context. The right answer stays right.

*AddOneSent* adds one such sentence, whatever the model. *AddSent* makes several; the model's worst answer
counts. Deviations: no crowd worker mends or checks the sentences; types of answers and statements come from
rules over parts of speech instead of parses.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from unfooled.attacks.questions.declaratives import statement
from unfooled.attacks.questions.fake_answers import fake_answer, other_number
from unfooled.records.summaries.squad_score import normalised
from unfooled.words.word import WORD, in_case_of

COPIES = 5
"""Sentences that AddSent tries."""
GENERATORS: Mapping[str, int] = {"addsent": COPIES, "addonesent": 1}
"""How many copies of each question a generator makes."""
NEAR = 10
"""Nearest words that a name may become."""


@dataclass(frozen=True)
class QuestionLexicon:
    """What the generator asks about words."""

    tags: Callable[[str], Sequence[tuple[int, int, str]]]
    """(start, end, part of speech) of each token of a text."""
    antonyms: Callable[[str, str], Sequence[str]]
    near: Callable[[str], Sequence[str]]
    """Words near a lower-case word, the nearest first."""


@cache
def own_lexicon() -> QuestionLexicon:
    """WordNet, GloVe and spaCy's tagger."""
    from unfooled.lexicon import wordnet
    from unfooled.lexicon.tagger import load_tagger
    from unfooled.lexicon.vectors import load_vectors

    tagger, vectors = load_tagger(), load_vectors("glove")
    return QuestionLexicon(
        lambda text: [(tag.start, tag.end, tag.pos) for tag in tagger.tags([text])[0]],
        lambda word, pos: wordnet.antonyms(word, pos),
        lambda word: [near for near, _ in vectors.neighbours(word, count=NEAR)],
    )


def sentences_for(
    generator: str,
    id: str,
    question: str,
    truth: Sequence[str],
    *,
    count: int,
    seed: int,
    lexicon: QuestionLexicon,
) -> list[str]:
    """The sentences that a generator adds for a question: a function of the seed, it and its answers."""
    return distractors(
        question, truth, count=count, key=f"{generator} {seed} {id} {question}", lexicon=lexicon
    )


def distracted(context: str, sentence: str) -> tuple[str, tuple[int, int]]:
    """The context with the sentence at its end, and where that stands."""
    before = context if context[-1:].isspace() else f"{context} "
    return before + sentence, (len(before), len(before) + len(sentence))


def distractors(
    question: str, truth: Sequence[str], *, count: int, key: str, lexicon: QuestionLexicon
) -> list[str]:
    """Up to ``count`` sentences that answer something else, all different, a function of ``key`` alone.

    None if no word of the question can be changed: then every answer would answer the question itself.
    """
    found: dict[str, None] = {}
    right = [normalised(answer) for answer in truth if normalised(answer)]
    for attempt in range(3 * count):
        chooser = random.Random(f"{key} {attempt}")
        changed = changed_question(question, lexicon, chooser)
        if changed is None:
            return []
        words, pos = changed
        fake = fake_answer(question, truth[0] if truth else "", chooser)
        sentence = statement(words, pos, fake)
        told = f" {normalised(sentence)} "
        if not any(f" {answer} " in told for answer in right):
            found[sentence] = None
        if len(found) == count:
            break
    return list(found)


def changed_question(
    question: str, lexicon: QuestionLexicon, chooser: random.Random
) -> tuple[list[str], list[str | None]] | None:
    """The words of a question that asks something else, and their parts of speech; None if none changes."""
    words: list[str] = []
    pos: list[str | None] = []
    changed = False
    for start, end, own in lexicon.tags(question):
        word = question[start:end]
        if own in ("PUNCT", "SPACE") and not WORD.search(word):
            if word.strip() in ("'", "’", "-", "–", "/", ","):
                _glue(words, word.strip())
            continue
        other = _other_word(word, own, lexicon, chooser)
        changed |= other is not None
        if word.startswith(("'", "’")) and words:  # «'s» belongs to the word before
            words[-1] += word
            continue
        words.append(other or word)
        pos.append(own)
    return (words, pos) if changed and words else None


def _glue(words: list[str], mark: str) -> None:
    if words:
        words[-1] += mark


def _other_word(word: str, pos: str, lexicon: QuestionLexicon, chooser: random.Random) -> str | None:
    """Another word in its place; None if it stays."""
    if re.fullmatch(r"\d[\d,]*(?:\.\d+)?", word):
        return other_number(word, chooser)
    if pos in ("NOUN", "ADJ", "ADV") and (opposite := lexicon.antonyms(word.lower(), pos)):
        return in_case_of(word, chooser.choice(list(opposite)[:3]))
    if pos == "PROPN":
        near = [one for one in lexicon.near(word.lower()) if one.isalpha() and one != word.lower()]
        if near:
            return in_case_of(word, chooser.choice(near[:NEAR]))
    return None
