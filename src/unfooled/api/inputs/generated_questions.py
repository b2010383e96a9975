"""Adversarial copies of clean questions, made here: AddSent and AddOneSent of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from unfooled.attacks.questions.add_sent import COPIES, QuestionLexicon, distractors, own_lexicon
from unfooled.data.qa import QuestionRows
from unfooled.errors import UserError

GENERATORS: Mapping[str, int] = {"addsent": COPIES, "addonesent": 1}
"""How many copies of each question a generator makes."""


def with_copies(
    rows: QuestionRows, generator: str, *, seed: int, lexicon: QuestionLexicon | None = None
) -> QuestionRows:
    """The questions, each followed by its copies, whose contexts end with a distractor.

    The sentences depend on the seed, the question and its answers alone. Questions that no word can be
    changed of have no copy.
    """
    words = own_lexicon() if lexicon is None else lexicon
    questions, paragraphs = [], []
    for question, paragraph in zip(rows.questions, rows.paragraphs, strict=True):
        made = distractors(
            question.text,
            question.truth,
            count=GENERATORS[generator],
            key=f"{generator} {seed} {question.id} {question.text}",
            lexicon=words,
        )
        gap = "" if question.context[-1:].isspace() else " "
        questions.append(question)
        questions += [
            replace(
                question, id=f"{question.id}-{generator}{n}", context=f"{question.context}{gap}{sentence}"
            )
            for n, sentence in enumerate(made)
        ]
        paragraphs += [paragraph] * (1 + len(made))
    if len(questions) == len(rows):
        raise UserError(f"{generator}: no question has a word that could be changed. Are they English?")
    return QuestionRows(tuple(questions), tuple(paragraphs))
