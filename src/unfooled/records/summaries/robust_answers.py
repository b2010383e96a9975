"""Answers to clean and adversarial questions side by side: robust F1 and exact match, the drop, intervals.

A question with adversarial copies is scored by the copy with the worst answer; one without copies by itself,
as Jia & Liang's script does. With one copy of each (AddOneSent) that is the copy as it stands; with several
(AddSent) the model's answers choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from unfooled.files import JsonObject
from unfooled.records.summaries.answer_scores import SCORES, mean_of
from unfooled.statistics.bootstrap import bootstrap_mean
from unfooled.statistics.intervals import rate

THRESHOLD = 0.5
"""An answer with less F1 counts as broken."""


@dataclass(frozen=True)
class AnsweredQuestion:
    """One question, or a copy of one, and the answer to it."""

    id: str
    original: str
    """The id of the original; its own, if it is no copy."""
    paragraph: str
    question: str
    context: str
    truth: tuple[str, ...]
    answer: str
    span: tuple[int, int] | None = None
    abstained: bool = False
    forwards: int = 0

    def score(self, name: str) -> float:
        return 0.0 if self.abstained else SCORES[name](self.answer, self.truth)


@dataclass(frozen=True)
class RobustAnswer:
    """An original question: its clean answer, where it was asked, and the answer that counts."""

    worst: AnsweredQuestion
    clean: AnsweredQuestion | None
    copies: int
    again: tuple[AnsweredQuestion, ...] = ()
    """Fresh answers of a randomised predictor to the worst copy."""

    @property
    def attacked(self) -> bool:
        """Whether there are copies, and the clean answer was right: only then an attack can succeed."""
        return self.copies > 0 and self.clean is not None and self.clean.score("exact_match") == 1.0

    def lost(self, name: str, *, verified: bool = False) -> bool:
        """Whether the exact match is lost, or F1 fell below :data:`THRESHOLD`; in most fresh answers, too."""
        least = {"exact_match": 1.0, "f1": THRESHOLD}[name]
        if self.worst.score(name) >= least:
            return False
        return not verified or 2 * sum(one.score(name) < least for one in self.again) > len(self.again)

    def to_dict(self) -> JsonObject:
        """What the report shows of it."""
        told = {"id": self.worst.original, "copies": self.copies, "worst": _told(self.worst)}
        return {**told, "clean": None if self.clean is None else _told(self.clean)}


def _told(one: AnsweredQuestion) -> JsonObject:
    values = asdict(one)
    del values["paragraph"], values["original"]
    return {**values, "truth": list(one.truth), **{name: one.score(name) for name in SCORES}}


def robust_answers(
    asked: Sequence[AnsweredQuestion], elsewhere: Mapping[str, AnsweredQuestion]
) -> list[RobustAnswer]:
    """One per original. A clean answer that the file does not have is taken from ``elsewhere``, by id."""
    copies: dict[str, list[AnsweredQuestion]] = {}
    clean: dict[str, AnsweredQuestion] = {}
    for one in asked:
        copies.setdefault(one.original, [])
        if one.id == one.original:
            clean[one.id] = one
        else:
            copies[one.original].append(one)
    found = []
    for original, own in copies.items():
        plain = clean.get(original) or elsewhere.get(original)
        worst = min(own, key=lambda one: (one.score("f1"), one.score("exact_match")), default=plain)
        assert worst is not None  # there is a copy, or the original itself
        found.append(RobustAnswer(worst, plain, len(own)))
    return found


def robust_metrics(found: Sequence[RobustAnswer]) -> JsonObject:
    """Robust F1 and exact match, those of the clean originals, and the paired drop, with 95 % intervals.

    Questions on one paragraph are drawn together. ``asr_…``: of the questions that were answered rightly and
    have copies, the share whose exact match is lost, or whose F1 fell below :data:`THRESHOLD`.
    ``…_verified``: by fresh answers to the worst copy, where a predictor draws noise.
    """
    paragraphs = [one.worst.paragraph for one in found]
    told: JsonObject = {
        "questions": len(found),
        "attacked": sum(one.copies > 0 for one in found),
        "copies": sum(one.copies for one in found),
    }
    both = [one for one in found if one.clean is not None]
    groups = [one.worst.paragraph for one in both]
    for name in SCORES:
        told |= mean_of(f"robust_{name}", [one.worst.score(name) for one in found], paragraphs)
        if both:
            clean = [one.clean.score(name) for one in both if one.clean is not None]
            robust = [one.worst.score(name) for one in both]
            drops = [before - after for before, after in zip(clean, robust, strict=True)]
            told |= mean_of(f"clean_{name}", clean, groups)
            told[f"drop_{name}"] = sum(drops) / len(drops)
            told[f"drop_{name}_interval"] = list(bootstrap_mean(drops, groups) or (-1.0, 1.0))
    told["paired"] = len(both)
    attacked = [one for one in found if one.attacked]
    for name in SCORES:
        told[f"asr_{name}"] = rate(sum(one.lost(name) for one in attacked), len(attacked))
    fresh = [one for one in found if one.again]
    if fresh:
        told["fresh_answers"] = len(fresh[0].again)
        for name in SCORES:
            again = [
                sum(own.score(name) for own in one.again) / len(one.again)
                if one.again
                else one.worst.score(name)
                for one in found
            ]
            told |= mean_of(f"robust_{name}_verified", again, paragraphs)
            told[f"asr_{name}_verified"] = rate(
                sum(one.lost(name, verified=True) for one in attacked), len(attacked)
            )
    return told
