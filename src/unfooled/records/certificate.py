"""A certificate: the answer for one input, the radius it provably keeps, and what that means and does not."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.metric import ACCURACY, Metric
from unfooled.records.summaries.squad_score import NO_ANSWER, exact_match, f1
from unfooled.settings import build

COUNTED = ("words", "edits")
"""Units of radii that count changes."""
CERTIFIED: Final = "certified"
ABSTAINED: Final = "abstained"
REFUSED: Final = "refused"


@dataclass(frozen=True)
class Certificate:
    """The result for one input."""

    row: int
    status: Literal["certified", "abstained", "refused"]
    threat: str
    label: str | None = None
    """The certified answer; None if there is none."""
    leader: str | None = None
    """The class that led the selection, certified or not."""
    span: tuple[int, int] | None = None
    """Of a question: the place of the leading answer in its context, (0, 0) for no answer."""
    truth: str | None = None
    """The true answer; of a question the first right one, empty if there is none."""
    correct: bool | None = None
    """Whether the certified answer is the true one; None if the truth is unknown."""
    f1: float | None = None
    """Of a question: F1 of the certified answer, 0 if there is none; None if the truth is unknown."""
    radius: float = 0.0
    unit: str = ""
    bound: str = ""
    radii: dict[str, float] = field(default_factory=dict)
    """The radius by every bound that was asked for, from the same votes."""
    asked_radius: float | None = None
    answer: str | None = None
    """To «is the radius at least asked_radius?»: yes, no, undecided."""
    p_top: float = 0.0
    p_second: float = 1.0
    votes: dict[str, int] = field(default_factory=dict)
    selection_votes: dict[str, int] = field(default_factory=dict)
    samples: int = 0
    forwards: int = 0
    alpha: float = 0.0
    sentence: str = ""
    """What is promised, in one sentence."""
    not_covered: str = ""
    words_covered: int | None = None
    """How many words may be replaced by listed substitutes with the same number of tokens (l2)."""
    words_substitutable: int | None = None
    """How many words have such substitutes (l2), or listed substitutes at all (synonyms)."""
    antonyms_inside: int | None = None
    """Single WordNet antonyms that lie inside: changes of meaning that the answer is certified to ignore."""
    antonyms_considered: int | None = None
    negations_inside: int | None = None
    """Single deletions of «not», «never», «no» and their kin that lie inside (edits)."""
    antonym_examples: tuple[tuple[str, str], ...] = ()
    """(word, antonym), at most three."""
    texts: tuple[str, ...] = ()
    shown: str = ""
    """Which input it is, in a line, where it is no text."""
    truncated: bool = False
    seconds: float = 0.0
    message: str = ""
    """Why the input was refused, why its radius covers no words, or that it was certified before."""
    repeated: bool = False
    """The journal has a certificate of this input with fewer draws: α does not hold for the best of both."""

    @property
    def answer_text(self) -> str:
        """The certified answer as it is shown; empty if nothing is certified."""
        return "(no answer)" if self.label == NO_ANSWER else self.label or ""

    def to_dict(self) -> JsonObject:
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: JsonMapping) -> Certificate:
        """As written by :meth:`to_dict`, also through JSON; what has another shape is refused by name."""
        return build(cls, saved, owner="the certificate", noun="key")

    def with_right_answers(self, right: tuple[str, ...]) -> Certificate:
        """Of a question: with what SQuAD's scores say of the certified answer."""
        truth = right[0] if right else NO_ANSWER
        if self.status == REFUSED:
            return replace(self, truth=truth)
        answered = self.label is not None
        return replace(
            self,
            truth=truth,
            correct=answered and exact_match(self.label, right) >= 1,
            f1=f1(self.label, right) if answered else 0.0,
        )

    def with_truth(self, truth: str, metric: Metric = ACCURACY) -> Certificate:
        correct = metric.right(self.label, truth) if self.status != REFUSED else None
        return replace(self, truth=truth, correct=correct)
