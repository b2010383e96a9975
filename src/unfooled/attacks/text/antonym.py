"""The antonym (obstinate) attack of Balanced Adversarial Training (Chen et al. 2022, §2.2 and §3.1).

Exactly one word becomes a WordNet antonym of the same part of speech, most important words first; the attack
succeeds when the prediction does not change. Neutral pairs, pairs labelled ``not_entailment`` and
non-paraphrases are not attacked. Deviation: importance is TextFooler's, as the paper has it, where the
released code ranks by the gradient. Where nearly every input has some antonym that changes nothing, all
models look alike; ``words=1`` tries the most important word alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.attempt import Attempt, NothingToChange, Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.parts.candidates import candidate_table, content_words
from unfooled.attacks.parts.constraints import with_same_pos
from unfooled.attacks.parts.greedy import substituted
from unfooled.attacks.parts.label_change import check_label_changes
from unfooled.attacks.parts.ranking import by_deletion
from unfooled.lexicon.wordnet import antonyms
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class Antonym:
    """One word turned into its opposite; the prediction must stay."""

    name: ClassVar[str] = "antonym"
    does: ClassVar[str] = "replaces words by their opposites"
    paper: ClassVar[str] = "Chen et al. 2022, EMNLP: Balanced Adversarial Training (antonym attack)"
    goal: ClassVar[GoalName] = "obstinate"
    needs: ClassVar[tuple[str, ...]] = ("tags",)

    words: int | None = setting(
        None, "How many of the most important words with antonyms to try; if not given, all", at_least=1
    )

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        check_label_changes(attempt)
        original = attempt.original
        table = candidate_table(attempt, content_words(attempt), antonyms)
        opposites: dict[int, list[str]] = {}
        for number, words in table.items():
            found = substituted(original, number, words)
            if found and (found := (yield from with_same_pos(attempt, original, number, found))):
                opposites[number] = [document.word(number) for document in found]
        if not opposites:
            raise NothingToChange("no antonym keeps its word's part of speech")
        order = yield from by_deletion(attempt, list(opposites))
        for number in order[: self.words]:
            trials = yield from attempt.ask(substituted(original, number, opposites[number], keep_case=False))
            reached = [trial for trial in trials if trial.reached]
            if reached:
                return max(reached, key=lambda trial: trial.score).document
        return None
