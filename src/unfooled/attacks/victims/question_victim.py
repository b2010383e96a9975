"""A classifier that answers questions as the victim of attacks: its deployed answers, judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unfooled.attacks.questions.right_answers import CLASSES, QuestionQuery, judged
from unfooled.attacks.victim import Answer, Asked

if TYPE_CHECKING:
    from unfooled.predictors import Classifier

AT_ONCE = 256
"""Questions that are read together: contexts are long, and all that is read of them is in memory."""


class QuestionVictim:
    """Answers of two classes, right and wrong, by what each query says is right."""

    labels: tuple[str, ...] = CLASSES

    def __init__(self, classifier: Classifier) -> None:
        from unfooled.models import as_questions

        self.classifier = classifier
        self.randomised = classifier.predictor.randomised
        self.model = as_questions(classifier.model)
        self.rough = self.model.bf16
        """Answers depend on the batch a little; :meth:`confirmed` ones do not."""

    def describe(self) -> dict[str, object]:
        return {"labels": list(self.labels), "predictor": self.classifier.predictor.describe()}

    def answers(self, asked: Sequence[Asked[QuestionQuery]]) -> list[Answer]:
        """The deployed predictor's answers, with the noise of each query's own key."""
        found: list[Answer] = []
        for start in range(0, len(asked), AT_ONCE):
            found += self._answers(asked[start : start + AT_ONCE])
        return found

    def confirmed(self, asked: Sequence[Asked[QuestionQuery]]) -> list[Answer]:
        """The answers in float32, whatever the search is done in."""
        with self.model.in_float32():
            return self.answers(asked)

    def _answers(self, asked: Sequence[Asked[QuestionQuery]]) -> list[Answer]:
        from unfooled.models import Unreadable

        read = self.model.read([(one.query.question, one.query.context) for one in asked])
        for item in read:
            if isinstance(item, Unreadable):
                raise ValueError(item.reason)
        decisions = self.classifier.decide(read, seed=[one.key for one in asked])
        return [
            judged(one.query, decision, self.classifier.answer_names(item, decision))
            for one, item, decision in zip(asked, read, decisions, strict=True)
        ]
