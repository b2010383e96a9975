"""What an attack did, as numbers: accuracy before and after, success rate, cost, quality of the changes.

Proportions carry Wilson 95 % intervals, means Student's t intervals, and each says on how many inputs it
stands. Examples that could not be attacked are counted apart: they are neither robust nor broken. Against a
randomised victim a success is also re-verified on fresh noise, and both rates are given.
"""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.outcome import Outcome
from unfooled.statistics.intervals import rate, student_mean

STATUSES = ("success", "failed", "skipped", "not-attackable", "refused", "error")

MEANINGS = {
    "fickle": {
        "sacc": "correct without attack / answered",
        "racc": "still correct after the attack / answered, not-attackable left out",
        "asr": "wrong after the attack / attacked",
    },
    "obstinate": {
        "sacc": "correct without attack / answered",
        "racc": "correct and reacted to every change of meaning / answered, not-attackable left out",
        "asr": "answer unchanged although the meaning changed / attacked",
    },
}
"""What the rates say; an obstinate attack changes the meaning and succeeds where the answer stays."""


def attack_summary(
    outcomes: Iterable[Outcome], *, goal: str = "fickle", randomised: bool = False
) -> JsonObject:
    """The table's numbers from the outcomes of one attack.

    ``sacc``, ``racc``, ``asr``: rates with ``value``, ``count`` of ``n`` and ``interval``; the latter two
    also as ``…_verified`` if the victim is ``randomised``, where a success counts if most fresh predictions
    confirm it. A value is None where there is nothing to divide by. The outcomes are read once and not kept.
    """
    counts: Counter[str] = Counter()
    limits_hit: Counter[str] = Counter()
    numbers: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
    verified = budget_spent = nothing_tried = 0
    tells_tries = True
    for one in outcomes:
        counts[one.status] += 1
        numbers["all_seconds"].append(one.seconds)
        if one.attacked:
            for name in ("queries", "forwards", "seconds"):
                numbers[name].append(getattr(one, name))
            budget_spent += one.budget_spent
            limits_hit[one.limit_hit] += 1
        if one.status == "failed" and not one.budget_spent:
            tells_tries &= one.tried is not None
            nothing_tried += not one.tried
        if one.status == "success":
            verified += one.verified
            if one.image is None and not (one.question and one.question.added):
                numbers["changed_words"].append(len(one.changes))
                numbers["changed_share"].append(len(one.changes) / max(1, one.words))
            if one.similarity is not None:
                numbers["similarity"].append(one.similarity)
            if one.pos_valid is not None:
                numbers["pos_valid"].append(one.pos_valid)
            if one.fresh_successes is not None and one.fresh_total:
                numbers["fresh"].append(one.fresh_successes / one.fresh_total)
    attacked = counts["success"] + counts["failed"]
    meaning, right = MEANINGS[goal], accuracies(counts, verified)
    summary: JsonObject = {
        "goal": goal,
        "randomised": randomised,
        "examples": counts.total(),
        "counts": {status: counts[status] for status in STATUSES},
        "attacked": attacked,
        "sacc": right["sacc"] | {"meaning": meaning["sacc"]},
        "racc": right["racc"] | {"meaning": meaning["racc"]},
        "asr": rate(counts["success"], attacked) | {"meaning": meaning["asr"]},
    }
    if randomised:
        again = "successes confirmed by most fresh predictions"
        summary["racc_verified"] = right["racc_verified"] | {
            "meaning": f"{meaning['racc']}; only {again} count against it"
        }
        summary["asr_verified"] = rate(verified, attacked) | {"meaning": f"{meaning['asr']}; only {again}"}
        summary["fresh_agreement"] = mean_of(numbers["fresh"], at_most=1.0)
    return summary | {
        "queries": mean_of(numbers["queries"]),
        "forwards": mean_of(numbers["forwards"]),
        "changed_words": mean_of(numbers["changed_words"]),
        "changed_share": mean_of(numbers["changed_share"], at_most=1.0),
        "similarity": mean_of(numbers["similarity"], at_least=-1.0, at_most=1.0),
        "pos_valid": rate(int(sum(numbers["pos_valid"])), len(numbers["pos_valid"])),
        "budget_spent": budget_spent,
        "limits_hit": {name: limits_hit[name] for name in ("queries", "time")},
        # Failed attacks that had candidates and could try none, though no limit was hit; None if unknown.
        "untried": nothing_tried if tells_tries else None,
        "seconds": mean_of(numbers["seconds"]),
        "total_seconds": math.fsum(numbers["all_seconds"]),
    }


def accuracies(counts: Counter[str], verified: int) -> dict[str, JsonObject]:
    """Right without an attack, after it, and after it if only ``verified`` successes count."""
    attacked = counts["success"] + counts["failed"]
    compared = attacked + counts["skipped"]
    return {
        "sacc": rate(attacked + counts["not-attackable"], compared + counts["not-attackable"]),
        "racc": rate(counts["failed"], compared),
        "racc_verified": rate(attacked - verified, compared),
    }


def by_class(outcomes: Iterable[Outcome]) -> dict[int, dict[str, JsonObject]]:
    """The :func:`accuracies` of the inputs of each true class, by its number."""
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    verified: Counter[int] = Counter()
    for one in outcomes:
        if one.truth is not None:
            counts[one.truth][one.status] += 1
            verified[one.truth] += one.verified
    return {number: accuracies(counts[number], verified[number]) for number in sorted(counts)}


def untried(summary: JsonMapping) -> str:
    """On how many inputs nothing was tried, in words; empty if on none, or if the results do not say."""
    if not summary.get("untried"):
        return ""
    return (
        f"on {summary['untried']:,} inputs the constraints rejected every candidate, so nothing was tried; "
        "they count as right"
    )


def cut_short(summary: JsonMapping) -> str:
    """On how many inputs which limit ended the attack, in words; empty if on none."""
    spent, hit = summary.get("budget_spent", 0), summary.get("limits_hit", {})
    if sum(hit.values()) < spent:  # from outcomes that do not say which
        hit = {"queries or time": spent}
    said = [f"out of {name} on {count:,} inputs" for name, count in hit.items() if count]
    return f"the attack ran {' and '.join(said)}" if said else ""


def mean_of(values: Sequence[float], *, at_least: float = 0.0, at_most: float = math.inf) -> JsonObject:
    """Mean of values from ``at_least`` to ``at_most`` and its 95 % interval; one value has no interval."""
    if not values:
        return {"value": None, "n": 0, "std": None, "interval": None}
    mean, interval = student_mean(values, at_least=at_least, at_most=at_most)
    std = None if interval is None else statistics.stdev(values)
    return {"value": mean, "n": len(values), "std": std, "interval": interval and list(interval)}
