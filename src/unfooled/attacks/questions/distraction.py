"""AddSent and AddOneSent as recipes: a sentence at the end of the context (Jia & Liang, EMNLP 2017).

``add_sent.py`` makes the sentences, before the attack: they depend on the seed and the question alone.
*AddSent* asks the model about several copies and takes the one with the worst answer; *AddOneSent* has one
copy, whatever the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from unfooled.attacks.attempt import NothingToChange, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.questions.add_sent import COPIES
from unfooled.attacks.questions.question_attempt import QuestionAttempt
from unfooled.settings import setting
from unfooled.words.document import Document

PAPER = "Jia and Liang 2017, EMNLP: Adversarial Examples for Evaluating Reading Comprehension Systems"


class QuestionRecipe(Protocol):
    """A recipe for questions alone: a frozen dataclass of settings with one method."""

    name: ClassVar[str]
    paper: ClassVar[str]
    goal: ClassVar[GoalName]
    reads: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]

    @property
    def sentences(self) -> int:
        """How many sentences it wants to try."""
        ...

    def search(self, attempt: QuestionAttempt) -> Steps[Document | None]: ...


@dataclass(frozen=True)
class AddSent:
    """Several sentences that look like an answer; the model's worst answer counts."""

    name: ClassVar[str] = "addsent"
    does: ClassVar[str] = "adds a misleading sentence to the context, the worst of several"
    paper: ClassVar[str] = f"{PAPER} (AddSent)"
    goal: ClassVar[GoalName] = "fickle"
    reads: ClassVar[str] = "question"
    needs: ClassVar[tuple[str, ...]] = ()

    copies: int = setting(
        COPIES, "Sentences that are tried, of which the worst counts", at_least=1, at_most=50
    )

    @property
    def sentences(self) -> int:
        return self.copies

    def search(self, attempt: QuestionAttempt) -> Steps[Document | None]:
        return (yield from worst_copy(attempt))


@dataclass(frozen=True)
class AddOneSent:
    """One sentence that looks like an answer, whatever the model."""

    name: ClassVar[str] = "addonesent"
    does: ClassVar[str] = "adds one misleading sentence to the context"
    paper: ClassVar[str] = f"{PAPER} (AddOneSent)"
    goal: ClassVar[GoalName] = "fickle"
    reads: ClassVar[str] = "question"
    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def sentences(self) -> int:
        return 1

    def search(self, attempt: QuestionAttempt) -> Steps[Document | None]:
        return (yield from worst_copy(attempt))


def worst_copy(attempt: QuestionAttempt) -> Steps[Document | None]:
    """Ask about every copy; the worst one, if it reaches the goal."""
    copies = [attempt.with_sentence(sentence) for sentence in attempt.example.sentences or ()]
    if not copies:
        raise NothingToChange("no word of the question can be changed")
    trials = yield from attempt.ask(copies)

    def badness(number: int) -> tuple[bool, float, float]:
        given = trials[number].answer.given
        assert given is not None
        return not trials[number].reached, given.f1, given.exact_match

    worst = trials[min(range(len(trials)), key=badness)]
    attempt.worst = worst.answer
    return worst.document if worst.reached else None
