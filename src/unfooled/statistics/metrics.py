"""Clean metrics of a classifier from its decisions: the task's metric with its interval, macro F1, cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unfooled.files import JsonObject
from unfooled.statistics.intervals import mean_interval


def classification_metrics(
    truth: Sequence[int],
    predicted: Sequence[int],
    labels: Sequence[str],
    *,
    abstained: Sequence[bool] | None = None,
    forwards: Sequence[int] | None = None,
    metric: str = "accuracy",
    score: Callable[[int, int], float] = lambda answer, truth: float(answer == truth),
) -> JsonObject:
    """The mean ``score(answer, truth)`` as ``metric`` with its 95 % interval, macro F1, confusion.

    An abstention scores 0: it is not a correct answer.
    """
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} labels but {len(predicted)} predictions")
    n = len(truth)
    silent = list(abstained) if abstained is not None else [False] * n
    confusion = [[0] * len(labels) for _ in labels]
    scores = []
    for gold, guess, quiet in zip(truth, predicted, silent, strict=True):
        scores.append(0.0 if quiet else score(guess, gold))
        if not quiet:
            confusion[gold][guess] += 1
    result: JsonObject = {
        "examples": n,
        "metric": metric,
        metric: sum(scores) / n if n else 0.0,
        f"{metric}_interval": list(mean_interval(scores)),
        "macro_f1": _macro_f1(confusion, [list(truth).count(index) for index in range(len(labels))]),
        "confusion": confusion,
        "labels": list(labels),
        "abstained": sum(silent),
    }
    if forwards is not None and n:
        result["forwards_per_example"] = sum(forwards) / n
    return result


def _macro_f1(confusion: list[list[int]], support: list[int]) -> float:
    scores = []
    for index, total in enumerate(support):
        hits = confusion[index][index]
        guessed = sum(row[index] for row in confusion)
        scores.append(2 * hits / (guessed + total) if guessed + total else 0.0)
    return sum(scores) / len(scores) if scores else 0.0
