"""The order in which words are attacked: most important first, equals in the order of the text.

Every function takes the word numbers to order and gives them back ordered; those that the budget did not
reach are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unfooled.attacks.attempt import Attempt, Steps, Trial
from unfooled.attacks.victim import Answer, Gradients
from unfooled.words.document import Document

UNKNOWN = "\U00012000"
"""A cuneiform letter: what vocabularies do not hold becomes their unknown token. Spelling «[UNK]» out would
not, since texts from outside never reach special tokens."""


def by_deletion(attempt: Attempt, words: Sequence[int]) -> Steps[list[int]]:
    """TextFooler's importance (Jin et al. 2020, Eq. 2): what the answer loses when the word is deleted.

    A word that stands alone in its text is not deleted, as classifiers refuse an empty text; it comes first.
    """
    asked = [number for number in words if not stands_alone(attempt.original, number)]
    trials = yield from attempt.ask((attempt.original.delete(number) for number in asked), ranking=True)
    importance = dict.fromkeys(set(words).difference(asked), float("inf"))
    for number, trial in zip(asked, trials, strict=False):
        importance[number] = deletion_importance(attempt.first, trial.answer, attempt.example.label)
    return ordered(importance)


def stands_alone(document: Document, number: int) -> bool:
    """Whether a text would be empty without the word."""
    which, start, end = document.span(number)
    room = [len(text.strip()) for text in document.texts]
    room[which] -= end - start
    return not all(room)


def deletion_importance(before: Answer, after: Answer, truth: int) -> float:
    """The true class's drop and, where the label flips, also the rise of the new class."""
    drop = before.scores[truth] - after.scores[truth]
    if after.abstained or after.label == truth:
        return drop
    return drop + after.scores[after.label] - before.scores[after.label]


def by_unknown(attempt: Attempt, words: Sequence[int], unknown: str) -> Steps[list[int]]:
    """By the attack's score when the word is replaced by the unknown token."""
    trials = yield from with_unknown(attempt, words, unknown)
    return ordered({number: trial.score for number, trial in zip(words, trials, strict=False)})


def with_unknown(attempt: Attempt, words: Sequence[int], unknown: str) -> Steps[list[Trial]]:
    """The trials in which each word in turn is the unknown token."""
    original = attempt.original
    documents = (original.replace(number, unknown, keep_case=False) for number in words)
    return (yield from attempt.ask(documents, ranking=True))


def by_gradient(attempt: Attempt, words: Sequence[int]) -> Steps[list[int]]:
    """By the L1 norm of the loss gradient, the mean over the word's tokens (Yoo and Qi 2021)."""
    gradients = yield from attempt.gradients(attempt.original, attempt.example.label)
    spans = attempt.original.spans
    return ordered({number: _mean_norm(gradients, spans[number]) for number in words})


def _mean_norm(gradients: Gradients, span: tuple[int, int, int]) -> float:
    which, start, end = span
    tokens = sum(w == which and s < end and e > start and e > s for w, s, e in gradients.spans)
    return float(np.abs(gradients.of_span(which, start, end)).sum()) / max(1, tokens)


def ordered(importance: Mapping[int, float]) -> list[int]:
    """Word numbers by falling importance; equals by number."""
    return sorted(importance, key=lambda number: (-importance[number], number))
