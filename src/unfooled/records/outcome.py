"""What became of one example under attack."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.image_change import ImageChange
from unfooled.records.question_change import QuestionChange
from unfooled.settings import build
from unfooled.words.document import Change

Status = Literal["success", "failed", "skipped", "not-attackable", "refused", "error"]
"""``skipped``: the victim was wrong without an attack. ``not-attackable``: nothing there to change.
``refused``: the input itself is unusable. ``error``: the attack broke on this example."""


LimitHit = Literal["", "queries", "time"]
"""Which limit cut an attack short; empty if none did."""


@dataclass(frozen=True)
class Outcome:
    """The result for one example, as the journal keeps it."""

    row: int
    status: Status
    original: tuple[str, ...]
    truth: int | None
    """Class number; None if the input was refused for its label."""
    first_label: int | None = None
    """The victim's answer to the untouched input."""
    first_scores: tuple[float, ...] = ()
    perturbed: tuple[str, ...] | None = None
    label: int | None = None
    """The victim's answer to the perturbed input."""
    scores: tuple[float, ...] = ()
    changes: tuple[Change, ...] = ()
    words: int = 0
    """Words of the original."""
    queries: int = 0
    """Queries, answers from the cache included (as TextAttack counts them)."""
    forwards: int = 0
    """Forward passes of the victim, the true cost; re-verification not included."""
    similarity: float | None = None
    pos_valid: bool | None = None
    """Every changed word kept its coarse part of speech; None if none became one other word."""
    fresh_successes: int | None = None
    """Of ``fresh_total`` fresh predictions, how many confirm the success; None for a fixed victim."""
    fresh_total: int = 0
    budget_spent: bool = False
    """The attack was cut short by its queries or its time."""
    limit_hit: LimitHit = ""
    """By which of them; empty also in journals that do not say."""
    tried: bool | None = None
    """A substitution was asked about; None in journals that do not say. Where the constraints let none
    through, a failed attack shows nothing."""
    message: str = ""
    """Why an example was refused or not attackable, or how the attack broke."""
    seconds: float = 0.0
    image: ImageChange | None = None
    """Of an image: how far it was moved, and its pixels. ``original`` is then a line that names it."""
    question: QuestionChange | None = None
    """Of a question: the answers and what they are worth. Class 0 is then a right answer, 1 a wrong one."""

    @property
    def attacked(self) -> bool:
        return self.status in ("success", "failed")

    @property
    def verified(self) -> bool:
        """A success that holds under fresh noise: more than half of the fresh predictions confirm it."""
        if self.status != "success":
            return False
        return self.fresh_successes is None or 2 * self.fresh_successes > self.fresh_total

    def to_dict(self) -> JsonObject:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: JsonMapping) -> Outcome:
        """As written by :meth:`to_dict`, also through JSON; what has another shape is refused by name."""
        return build(cls, values, owner="the outcome", noun="key")
