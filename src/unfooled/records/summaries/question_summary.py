"""What an attack on questions did, as numbers: those of every attack, and F1 and exact match around it.

Means are over all questions that were answered, with bootstrap intervals that draw the questions on one
paragraph together. After a failed attack the answer counts that was given before, or to the worst copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from unfooled.files import JsonObject
from unfooled.records.outcome import Outcome
from unfooled.records.question_change import GivenAnswer
from unfooled.records.summaries.attack_summary import attack_summary
from unfooled.statistics.bootstrap import bootstrap_mean

ScoreName = Literal["f1", "exact_match"]
SCORES: tuple[ScoreName, ...] = ("f1", "exact_match")
ANSWERED = ("success", "failed", "skipped", "not-attackable")


def question_attack_summary(
    outcomes: Iterable[Outcome], *, randomised: bool, success: str, f1_below: float
) -> JsonObject:
    """The summary, with ``f1_before``, ``f1_after``, ``exact_match_before`` and ``exact_match_after``.

    ``…_after_verified``: a success counts with the mean of its fresh answers, if the victim is randomised.
    ``right`` says in words which answers count as right in SAcc, RAcc and ASR.
    """
    kept: list[Outcome] = list(outcomes)
    found = attack_summary(kept, randomised=randomised)
    found["success"] = success
    found["right"] = "exact match" if success == "exact-match" else f"F1 of at least {f1_below:g}"
    answered = [one for one in kept if one.status in ANSWERED and one.question and one.question.before]
    groups = [one.question.paragraph for one in answered if one.question]
    for name in SCORES:
        found[f"{name}_before"] = _mean([_before(one, name) for one in answered], groups)
        found[f"{name}_after"] = _mean([_after(one, name) for one in answered], groups)
        if randomised:
            found[f"{name}_after_verified"] = _mean([_again(one, name) for one in answered], groups)
    return found


def _before(one: Outcome, name: ScoreName) -> float:
    assert one.question is not None
    return _score(one.question.before, name)


def _after(one: Outcome, name: ScoreName) -> float:
    assert one.question is not None
    return _before(one, name) if one.question.after is None else _score(one.question.after, name)


def _again(one: Outcome, name: ScoreName) -> float:
    assert one.question is not None
    fresh = one.question.fresh_f1 if name == "f1" else one.question.fresh_exact_match
    return _after(one, name) if fresh is None else fresh


def _score(given: GivenAnswer | None, name: ScoreName) -> float:
    assert given is not None
    return given.f1 if name == "f1" else given.exact_match


def _mean(scores: Sequence[float], groups: Sequence[str]) -> JsonObject:
    if not scores:
        return {"value": None, "n": 0, "interval": None}
    interval = bootstrap_mean(scores, groups)
    return {"value": sum(scores) / len(scores), "n": len(scores), "interval": interval and list(interval)}
