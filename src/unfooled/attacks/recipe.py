"""What a recipe is: settings, a goal, and a search that asks through its attempt."""

from __future__ import annotations

from typing import ClassVar, Protocol

from unfooled.attacks.attempt import Attempt, Steps
from unfooled.attacks.goals import GoalName
from unfooled.words.document import Document


class Recipe(Protocol):
    """A published attack as a frozen dataclass of settings with one method.

    It may say, as ``does``, what an attacker does who uses it («replaces words by near-synonyms»): the report
    puts that into its sentences. ``version`` (1 if it has none) is raised when the same settings search
    otherwise: what an older one found is then not gone on from.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    """Where it comes from, one line for ``--list``."""
    goal: ClassVar[GoalName]
    needs: ClassVar[tuple[str, ...]]
    """Services beyond the victim's answers: gradients, expected, tags, similarity, fill."""

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        """The successful document, or None. Raises ``NothingToChange`` where no word can be changed."""
        ...
