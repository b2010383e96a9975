"""What certificates say together: certified accuracy at each radius, average radius, abstentions, cost.

Certified accuracy at r is the share of inputs whose answer is right *and* certified at a radius of at least
r: a lower bound of the accuracy under every attack inside the threat. Proportions carry Wilson 95 %
intervals. Of questions it is certified exact match, and certified F1 stands beside it: F1 of what is not
certified at r counts as 0. Refused inputs are counted apart. Beside it stands how many certified texts ignore
an antonym.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from unfooled.files import JsonObject
from unfooled.records.certificate import COUNTED, Certificate
from unfooled.records.summaries.answer_scores import mean_of
from unfooled.statistics.intervals import rate

POINTS = 21
"""Radii on the curve of a distance; of words, every number."""


class _Facts(NamedTuple):
    """What counts of one certificate; its texts and sentences need not be held."""

    status: str
    radius: float
    radii: dict[str, float]
    unit: str
    correct: bool | None
    answer: str | None
    asked_radius: float | None
    samples: int
    forwards: int
    seconds: float
    words_covered: int | None
    antonyms_inside: int | None
    antonyms_considered: int | None
    negations_inside: int | None
    f1: float | None


_facts_of = attrgetter(*_Facts._fields)


def certificate_summary(certificates: Iterable[Certificate]) -> JsonObject:
    """The numbers of a report. Without true labels, shares of certified inputs stand for accuracies."""
    every = [_Facts(*_facts_of(one)) for one in certificates]
    counts = Counter(one.status for one in every)
    answered = [one for one in every if one.status != "refused"]
    certified = [one for one in answered if one.status == "certified"]
    labelled = all(one.correct is not None for one in answered)
    counted = [one for one in certified if one.correct or not labelled]
    n = len(answered)
    asks = bool(answered) and all(one.f1 is not None for one in answered)
    asked = next((one.asked_radius for one in answered if one.asked_radius is not None), None)
    summary: JsonObject = {
        "inputs": len(every),
        "counts": {status: counts[status] for status in ("certified", "abstained", "refused")},
        "labelled": labelled,
        "unit": next((one.unit for one in answered), ""),
        "certified_accuracy": rate(len(counted), n),
        "abstention": rate(counts["abstained"], n),
        "average_radius": _mean(
            [one.radius if counts_ else 0.0 for one, counts_ in _marked(answered, counted)]
        ),
        "curve": [
            {"radius": radius, **rate(sum(one.radius >= radius for one in counted), n)}
            for radius in _radii(certified if asks else counted)
        ],
        "by_bound": _by_bound(answered, counted),
        "samples": _mean([one.samples for one in answered]),
        "forwards": sum(one.forwards for one in answered),
        "seconds": math.fsum(one.seconds for one in answered),
    }
    if asks:
        summary["f1"] = _mean([one.f1 or 0.0 for one in answered])
        for point in summary["curve"]:
            scores = [one.f1 or 0.0 if one.radius >= point["radius"] else 0.0 for one in answered]
            point |= mean_of("f1", scores)
    if asked is not None:
        reached = sum(one.answer == "yes" for one in counted)
        summary["asked"] = {"radius": asked, **rate(reached, n)}
    covered = [one.words_covered for one in counted if one.words_covered is not None]
    if covered:
        summary["words_covered"] = {
            "mean": sum(covered) / len(covered),
            "at_least_one": rate(sum(words >= 1 for words in covered), n),
        }
    read = [one for one in certified if one.antonyms_considered]
    if any(one.antonyms_inside is not None for one in certified):
        ignoring = sum(bool(one.antonyms_inside) for one in read)
        summary["obstinacy"] = {
            "texts": rate(ignoring, len(read)),
            "antonyms_inside": sum(one.antonyms_inside or 0 for one in read),
            "antonyms_considered": sum(one.antonyms_considered or 0 for one in read),
            "meaning": "certified texts with an antonym inside the certified threat / certified texts that "
            "have antonyms: changes of meaning which the answer is certified to ignore",
        }
        if any(one.negations_inside is not None for one in certified):
            summary["obstinacy"]["negations_inside"] = sum(one.negations_inside or 0 for one in certified)
    return summary


def _marked(answered: Sequence[_Facts], counted: Sequence[_Facts]) -> list[tuple[_Facts, bool]]:
    chosen = {id(one) for one in counted}
    return [(one, id(one) in chosen) for one in answered]


def _by_bound(answered: Sequence[_Facts], counted: Sequence[_Facts]) -> dict[str, float]:
    """The average radius by every bound, from the same votes."""
    names = list(dict.fromkeys(name for one in counted for name in one.radii))
    return {name: math.fsum(one.radii[name] for one in counted) / len(answered) for name in names}


def _radii(counted: Sequence[_Facts]) -> list[float]:
    largest = max((one.radius for one in counted), default=0.0)
    if all(one.unit in COUNTED for one in counted):
        return list(range(int(largest) + 1))
    step = largest / (POINTS - 1)
    return [0.0] if largest == 0 else [number * step for number in range(POINTS - 1)] + [largest]


def _mean(values: Sequence[float]) -> JsonObject:
    return {"value": math.fsum(values) / len(values) if values else None, "n": len(values)}
