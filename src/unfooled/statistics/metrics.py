"""Clean metrics of a classifier from its decisions: accuracy with its interval, macro F1, confusion, cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unfooled.statistics.intervals import wilson


def classification_metrics(
    truth: Sequence[int],
    predicted: Sequence[int],
    labels: Sequence[str],
    *,
    abstained: Sequence[bool] | None = None,
    forwards: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Accuracy (an abstention is not a correct answer), its 95 % Wilson interval, macro F1, confusion."""
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} labels but {len(predicted)} predictions")
    n = len(truth)
    silent = list(abstained) if abstained is not None else [False] * n
    confusion = [[0] * len(labels) for _ in labels]
    correct = 0
    for gold, guess, quiet in zip(truth, predicted, silent, strict=True):
        if not quiet:
            confusion[gold][guess] += 1
            correct += gold == guess
    result: dict[str, Any] = {
        "examples": n,
        "accuracy": correct / n if n else 0.0,
        "accuracy_interval": list(wilson(correct, n)),
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
