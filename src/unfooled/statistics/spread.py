"""How far numbers lie apart: over seeds (Moon et al. 2023, Table 5) and over repeats (Appendix A).

>>> spread([0.9240, 0.9180, 0.9213])["std"]          # the sample standard deviation, as in Table 5
0.0030…
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence

from unfooled.files import JsonObject
from unfooled.statistics.intervals import mean_interval, wilson

ABSTAINED = -1
"""The answer of a predictor that abstained."""


def spread(values: Sequence[float]) -> JsonObject:
    """n, mean, standard deviation (n − 1; None for one value), min, median, max."""
    if not values:
        raise ValueError("spread needs at least one value")
    return {
        "n": len(values),
        "mean": statistics.fmean(values),
        "std": statistics.stdev(values) if len(values) > 1 else None,
        "min": min(values),
        "median": statistics.median(values),
        "max": max(values),
    }


def histogram(values: Sequence[float], bins: int = 10) -> list[tuple[float, float, int]]:
    """(from, to, how many) for equal bins; one bin a value if there are no more than ``bins`` values."""
    distinct = sorted(set(values))
    if len(distinct) <= bins:
        counted = Counter(values)
        return [(value, value, counted[value]) for value in distinct]
    low, width = distinct[0], (distinct[-1] - distinct[0]) / bins
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int((value - low) / width))] += 1
    return [(low + i * width, low + (i + 1) * width, count) for i, count in enumerate(counts)]


def repeat_statistics(
    truth: Sequence[int],
    repeats: Sequence[Sequence[int]],
    labels: Sequence[str],
    *,
    score: Callable[[int, int], float] = lambda answer, truth: float(answer == truth),
) -> JsonObject:
    """What repeated evaluations of the same inputs say; ``repeats[r][i]`` is answer r of input i.

    Accuracies are means of ``score(answer, truth)``. The agreement of an input is the share of its most
    frequent answer. An abstention is an answer of its own, and never a correct one. The interval of
    ``majority_accuracy`` is for other inputs of the same kind (95 %); ``accuracy`` is about these inputs
    under other noise.
    """
    if not truth or not repeats:
        raise ValueError("there must be at least one input and one repeat")
    n = len(truth)

    def scored(answers: Sequence[int]) -> list[float]:
        return [
            0.0 if answer == ABSTAINED else score(answer, gold)
            for gold, answer in zip(truth, answers, strict=True)
        ]

    accuracies = [sum(scored(answers)) / n for answers in repeats]
    counts = [Counter(answers[index] for answers in repeats) for index in range(n)]
    changed = sum(len(counted) > 1 for counted in counts)
    # Ties go to the lower class, as in a vote.
    majority = [min(counted, key=lambda answer: (-counted[answer], answer)) for counted in counts]
    right = scored(majority)
    agreements = [max(counted.values()) / len(repeats) for counted in counts]
    return {
        "inputs": n,
        "repeats": len(repeats),
        "accuracy": spread(accuracies),
        "majority_accuracy": sum(right) / n,
        "majority_accuracy_interval": list(mean_interval(right)),
        "changed": changed,
        "changed_share": changed / n,
        "changed_interval": list(wilson(changed, n)),
        "agreement": statistics.fmean(agreements),
        "accuracies": accuracies,
        "per_input": [
            {
                "label": labels[gold],
                "answers": {_name(answer, labels): counted[answer] for answer in sorted(counted)},
                "correct": counted[gold],
                "agreement": agreement,
            }
            for gold, counted, agreement in zip(truth, counts, agreements, strict=True)
        ],
    }


def _name(answer: int, labels: Sequence[str]) -> str:
    return "(abstained)" if answer == ABSTAINED else labels[answer]
