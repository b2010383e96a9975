"""Adversarial copies of clean questions, made here: AddSent and AddOneSent of our own."""

from __future__ import annotations

from dataclasses import replace

from unfooled.attacks.questions.add_sent import (
    GENERATORS,
    QuestionLexicon,
    distracted,
    own_lexicon,
    sentences_for,
)
from unfooled.data.qa import AskedQuestion, QuestionRows
from unfooled.errors import UserError


def with_copies(
    rows: QuestionRows, generator: str, *, seed: int, lexicon: QuestionLexicon | None = None
) -> QuestionRows:
    """The questions, each followed by its copies, whose contexts end with a distractor.

    The sentences depend on the seed, the question and its answers alone. Questions that no word can be
    changed of have no copy.
    """
    questions, paragraphs = [], []
    made = sentences_of(rows.questions, generator, count=GENERATORS[generator], seed=seed, lexicon=lexicon)
    if not any(made):
        raise UserError(f"{generator}: no question has a word that could be changed. Are they English?")
    for question, paragraph, own in zip(rows.questions, rows.paragraphs, made, strict=True):
        questions.append(question)
        questions += [
            replace(
                question, id=f"{question.id}-{generator}{n}", context=distracted(question.context, one)[0]
            )
            for n, one in enumerate(own)
        ]
        paragraphs += [paragraph] * (1 + len(own))
    return QuestionRows(tuple(questions), tuple(paragraphs))


def sentences_of(
    questions: tuple[AskedQuestion, ...],
    generator: str,
    *,
    count: int,
    seed: int,
    lexicon: QuestionLexicon | None = None,
) -> list[tuple[str, ...]]:
    """The distractors of each question; none where no word of it can be changed."""
    words = own_lexicon() if lexicon is None else lexicon
    return [
        tuple(sentences_for(generator, one.id, one.text, one.truth, count=count, seed=seed, lexicon=words))
        for one in questions
    ]
