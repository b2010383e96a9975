"""One attack on one question: the context may change, the question and the right answers may not."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace

from unfooled.attacks.attempt import Attempt, Example
from unfooled.attacks.parts.protection import protected
from unfooled.attacks.questions.add_sent import distracted
from unfooled.attacks.questions.right_answers import AnswerRule, QuestionQuery
from unfooled.attacks.victim import Answer, Asked, Query
from unfooled.records.question_change import QuestionChange
from unfooled.words.document import Document

CONTEXT = 1
"""Which of the two texts may change."""


@dataclass(frozen=True)
class QuestionExample(Example):
    """A question, its context and the right answers; ``label`` is the class «right»."""

    id: str = ""
    paragraph: str = ""
    answers: tuple[tuple[str, int], ...] = ()
    """Each right answer and its first character in the context; none if no answer is right."""
    sentences: tuple[str, ...] | None = None
    """What an attack may add to the context; None for one that changes words."""

    @property
    def truth(self) -> tuple[str, ...]:
        return tuple(text for text, _ in self.answers)

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Where the right answers stand."""
        return tuple((start, start + len(text)) for text, start in self.answers)


@dataclass
class QuestionAttempt(Attempt):
    """State of one attack on a question."""

    example: QuestionExample
    worst: Answer | None = None
    """Of a recipe that adds sentences: the answer to the worst copy."""
    added: dict[Query, tuple[int, int]] = field(default_factory=dict)
    """Where the added sentence of a copy stands."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rule = AnswerRule.of(self.limits)

    @property
    def changeable(self) -> list[int]:
        """Words of the context that touch no right answer and no other place where one stands."""
        answers = (*self.limits.protect, *self.example.truth)
        untouchable = protected(self.original, replace(self.limits, protect=answers))
        return [
            number
            for number, (which, start, end) in enumerate(self.original.spans)
            if which == CONTEXT
            and number not in untouchable
            and not any(start < last and first < end for first, last in self.example.places)
        ]

    @property
    def size(self) -> int:
        """Words of the context."""
        return sum(which == CONTEXT for which, _, _ in self.original.spans)

    def check_changeable(self) -> None:
        if self.example.sentences is None:
            super().check_changeable()

    def with_sentence(self, sentence: str) -> Document:
        """The question with a context that ends with the sentence."""
        question, context = self.original.texts
        longer, place = distracted(context, sentence)
        document = Document.of(question, longer)
        self.added[document.texts] = place
        return document

    def question_change(self) -> QuestionChange:
        first: Answer | None = getattr(self, "first", None)
        last = self.last or self.worst
        again = [one.given for one in self.again if one.given is not None]
        reached = next((texts for texts, answer in self.reaching.items() if answer is self.last), None)
        return QuestionChange(
            id=self.example.id,
            paragraph=self.example.paragraph,
            truth=self.example.truth,
            right=self.example.places,
            before=None if first is None else first.given,
            after=None if last is None else last.given,
            copies=len(self.added),
            added=None if reached is None else self.added.get(reached),
            fresh_f1=statistics.fmean(one.f1 for one in again) if again else None,
            fresh_exact_match=statistics.fmean(one.exact_match for one in again) if again else None,
        )

    def _as_asked(self, query: Query, key: int) -> Asked[QuestionQuery]:
        question, context = query
        return Asked(QuestionQuery(question, context, self.example.truth, self._rule), key)
