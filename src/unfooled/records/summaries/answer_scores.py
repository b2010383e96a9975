"""What answers to questions are worth: F1 and exact match with bootstrap intervals, and per answerability."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from unfooled.files import JsonObject
from unfooled.records.summaries.squad_score import NO_ANSWER, exact_match, f1
from unfooled.statistics.bootstrap import bootstrap_mean

SCORES = {"f1": f1, "exact_match": exact_match}


def answer_metrics(
    answers: Sequence[str],
    truths: Sequence[Sequence[str]],
    *,
    abstained: Sequence[bool] | None = None,
    forwards: Sequence[int] | None = None,
    groups: Sequence[Hashable] | None = None,
) -> JsonObject:
    """Means over questions with 95 % intervals. An abstention scores 0: it is no right answer.

    ``groups``: questions on one paragraph are drawn together by the bootstrap. Where there are questions
    without a right answer, both kinds have their own means too.
    """
    n = len(truths)
    silent = list(abstained) if abstained is not None else [False] * n
    each = {
        name: [
            0.0 if quiet else score(answer, tuple(truth))
            for answer, truth, quiet in zip(answers, truths, silent, strict=True)
        ]
        for name, score in SCORES.items()
    }
    found: JsonObject = {"examples": n, "metric": "f1"}
    for name, scores in each.items():
        found |= mean_of(name, scores, groups)
    answerable = [bool(truth) for truth in truths]
    found |= {
        "answerable": sum(answerable),
        "answered": sum(
            answer != NO_ANSWER and not quiet for answer, quiet in zip(answers, silent, strict=True)
        ),
        "abstained": sum(silent),
    }
    if 0 < sum(answerable) < n:
        for name, wanted in (("has_answer", True), ("no_answer", False)):
            own = [place for place, flag in enumerate(answerable) if flag == wanted]
            found[name] = {
                "examples": len(own),
                **{score: sum(scores[place] for place in own) / len(own) for score, scores in each.items()},
            }
    if forwards is not None and n:
        found["forwards_per_example"] = sum(forwards) / n
    return found


def mean_of(name: str, scores: Sequence[float], groups: Sequence[Hashable] | None = None) -> JsonObject:
    """A mean and its interval, as ``metrics.json`` has them; one question alone could be anywhere."""
    mean = sum(scores) / len(scores) if scores else 0.0
    return {name: mean, f"{name}_interval": list(bootstrap_mean(scores, groups) or (0.0, 1.0))}
