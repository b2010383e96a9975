"""What an attack did, as numbers: accuracy before and after, success rate, cost, quality of the changes.

Proportions carry Wilson 95 % intervals, means Student's t intervals, and each says on how many inputs it
stands. Examples that could not be attacked are counted apart: they are neither robust nor broken. Against a
randomised victim a success is also re-verified on fresh noise, and both rates are given.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from unfooled.statistics.intervals import rate

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


class AttackResult(Protocol):
    """One example under attack; :class:`unfooled.attacks.Outcome` is one."""

    @property
    def status(self) -> str: ...
    @property
    def verified(self) -> bool: ...
    @property
    def changes(self) -> Sequence[Any]: ...
    @property
    def words(self) -> int: ...
    @property
    def queries(self) -> int: ...
    @property
    def forwards(self) -> int: ...
    @property
    def similarity(self) -> float | None: ...
    @property
    def pos_valid(self) -> bool | None: ...
    @property
    def fresh_successes(self) -> int | None: ...
    @property
    def fresh_total(self) -> int: ...
    @property
    def budget_spent(self) -> bool: ...
    @property
    def limit_hit(self) -> str: ...
    @property
    def tried(self) -> bool | None: ...
    @property
    def seconds(self) -> float: ...


def attack_summary(
    outcomes: Iterable[AttackResult], *, goal: str = "fickle", randomised: bool = False
) -> dict[str, Any]:
    """The table's numbers from the outcomes of one attack.

    ``sacc``, ``racc``, ``asr``: rates with ``value``, ``count`` of ``n`` and ``interval``; the latter two
    also as ``…_verified`` if the victim is ``randomised``, where a success counts if most fresh predictions
    confirm it. A value is None where there is nothing to divide by.
    """
    outcomes = list(outcomes)
    counts = Counter(outcome.status for outcome in outcomes)
    successes = [outcome for outcome in outcomes if outcome.status == "success"]
    attacked = [outcome for outcome in outcomes if outcome.status in ("success", "failed")]
    verified = sum(outcome.verified for outcome in successes)
    compared = len(attacked) + counts["skipped"]
    meaning = MEANINGS[goal]
    summary: dict[str, Any] = {
        "goal": goal,
        "randomised": randomised,
        "examples": len(outcomes),
        "counts": {status: counts[status] for status in STATUSES},
        "attacked": len(attacked),
        "sacc": rate(len(attacked) + counts["not-attackable"], compared + counts["not-attackable"])
        | {"meaning": meaning["sacc"]},
        "racc": rate(counts["failed"], compared) | {"meaning": meaning["racc"]},
        "asr": rate(len(successes), len(attacked)) | {"meaning": meaning["asr"]},
    }
    if randomised:
        again = "successes confirmed by most fresh predictions"
        summary["racc_verified"] = rate(len(attacked) - verified, compared) | {
            "meaning": f"{meaning['racc']}; only {again} count against it"
        }
        summary["asr_verified"] = rate(verified, len(attacked)) | {
            "meaning": f"{meaning['asr']}; only {again}"
        }
        summary["fresh_agreement"] = _mean(
            (
                outcome.fresh_successes / outcome.fresh_total
                for outcome in successes
                if outcome.fresh_successes is not None and outcome.fresh_total
            ),
            at_most=1.0,
        )
    judged = [outcome.pos_valid for outcome in successes if outcome.pos_valid is not None]
    return summary | {
        "queries": _mean(outcome.queries for outcome in attacked),
        "forwards": _mean(outcome.forwards for outcome in attacked),
        "changed_words": _mean(len(outcome.changes) for outcome in successes),
        "changed_share": _mean(
            (len(outcome.changes) / max(1, outcome.words) for outcome in successes), at_most=1.0
        ),
        "similarity": _mean(
            (outcome.similarity for outcome in successes if outcome.similarity is not None), at_most=1.0
        ),
        "pos_valid": rate(sum(judged), len(judged)),
        "budget_spent": sum(outcome.budget_spent for outcome in attacked),
        "limits_hit": {
            name: sum(outcome.limit_hit == name for outcome in attacked) for name in ("queries", "time")
        },
        "untried": _untried(outcomes),
        "seconds": _mean(outcome.seconds for outcome in attacked),
        "total_seconds": math.fsum(outcome.seconds for outcome in outcomes),
    }


def _untried(outcomes: Sequence[AttackResult]) -> int | None:
    """Failed attacks that had candidates and could try none, though no limit was hit; None if unknown."""
    failed = [outcome for outcome in outcomes if outcome.status == "failed" and not outcome.budget_spent]
    if any(outcome.tried is None for outcome in failed):
        return None
    return sum(not outcome.tried for outcome in failed)


def untried(summary: Mapping[str, Any]) -> str:
    """On how many inputs nothing was tried, in words; empty if on none, or if the results do not say."""
    if not summary.get("untried"):
        return ""
    return (
        f"on {summary['untried']:,} inputs the constraints rejected every candidate, so nothing was tried; "
        "they count as right"
    )


def cut_short(summary: Mapping[str, Any]) -> str:
    """On how many inputs which limit ended the attack, in words; empty if on none."""
    spent, hit = summary.get("budget_spent", 0), summary.get("limits_hit", {})
    if sum(hit.values()) < spent:  # from outcomes that do not say which
        hit = {"queries or time": spent}
    said = [f"out of {name} on {count:,} inputs" for name, count in hit.items() if count]
    return f"the attack ran {' and '.join(said)}" if said else ""


def _mean(values: Iterable[float], *, at_most: float = math.inf) -> dict[str, Any]:
    """Mean of values from 0 to ``at_most`` and its 95 % interval, cut at those; one value has no interval."""
    from scipy.special import stdtrit

    found = [float(value) for value in values]
    n = len(found)
    if n == 0:
        return {"value": None, "n": 0, "std": None, "interval": None}
    mean = statistics.fmean(found)
    if n == 1:
        return {"value": mean, "n": 1, "std": None, "interval": None}
    std = statistics.stdev(found)
    half = float(stdtrit(n - 1, 0.975)) * std / math.sqrt(n)
    return {"value": mean, "n": n, "std": std, "interval": [max(0.0, mean - half), min(at_most, mean + half)]}
