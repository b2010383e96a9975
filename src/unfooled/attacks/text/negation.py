"""The negation (obstinate) attack of Balanced Adversarial Training (Chen et al. 2022, App. A.2).

One verb is negated or loses its negation; the attack succeeds when the prediction does not change. As in the
released code all such texts are tried and the one the victim is surest of is taken. Deviation: participles
and infinitives without an auxiliary («not to go») are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.attempt import Attempt, NothingToChange, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.label_change import check_label_changes
from unfooled.lexicon.sentence_negation import Edits, negations
from unfooled.lexicon.tagger import pos_of_span
from unfooled.words.document import Document


@dataclass(frozen=True)
class Negation:
    """One verb negated, or its negation removed; the prediction must stay."""

    name: ClassVar[str] = "negation"
    does: ClassVar[str] = "negates the sentence"
    paper: ClassVar[str] = "Chen et al. 2022, EMNLP: Balanced Adversarial Training (negation attack)"
    goal: ClassVar[GoalName] = "obstinate"
    needs: ClassVar[tuple[str, ...]] = ("tags",)

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        check_label_changes(attempt)
        original, changeable = attempt.original, frozenset(attempt.changeable)
        tagged = yield from attempt.tags(original.texts)
        edits: list[Edits] = []
        for which, tags in enumerate(tagged):
            numbers = [number for number, span in enumerate(original.spans) if span[0] == which]
            pos = [pos_of_span(tags, *original.spans[number][1:]) for number in numbers]
            for edit in negations([original.words[number] for number in numbers], pos):
                edits.append({numbers[place]: word for place, word in edit.items()})
        edits = [edit for edit in edits if changeable.issuperset(edit) and len(edit) <= attempt.max_changes]
        if not edits:
            raise NothingToChange("no verb can be negated")
        trials = yield from attempt.ask(edited(original, edit) for edit in edits)
        reached = [trial for trial in trials if trial.reached]
        return max(reached, key=lambda trial: trial.score).document if reached else None


def edited(document: Document, edits: Edits) -> Document:
    """The document with its words replaced, or deleted where the replacement is empty."""
    document = document.replace_all({number: word for number, word in edits.items() if word})
    for number, word in edits.items():
        if not word:
            document = document.delete(number)
    return document
