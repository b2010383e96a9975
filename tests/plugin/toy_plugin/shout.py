"""A recipe: word after word is replaced, until the answer changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.goals import GoalName
from unfooled.settings import setting
from unfooled.words.document import Document


@dataclass(frozen=True)
class Shout:
    """Every word becomes the same one."""

    name: ClassVar[str] = "shout"
    paper: ClassVar[str] = "Nobody 2000 (a toy)"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ()

    word: str = setting("hey", "What every word becomes")

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        document = attempt.original
        for number in attempt.changeable:
            document = document.replace(number, self.word)
            trials = yield from attempt.ask([document])
            if trials and trials[0].reached:
                return trials[0].document
        return None
