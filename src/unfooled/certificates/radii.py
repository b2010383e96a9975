"""From two probability bounds to the radius of a threat, and back to the probability a radius needs.

Every bound is a function of (p_top, p_second) that grows with the first, so «is the radius at least r?» is
the question «is p_top ≥ t?» for one t, found by bisection and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from unfooled.statistics.bounds import (
    composed_each_word,
    composed_l2,
    composed_linf,
    deletion_edits,
    deletion_words,
    gaussian_l2,
    laplace_l1,
    masked_words,
    pixeldp_l2,
    renyi_l2,
    synonym_words,
)
from unfooled.statistics.noise_budget import composed_sigma
from unfooled.statistics.rounding import SLACK, TINIEST

Radius = Callable[[float, float], float]
"""Radius from a lower bound of the first class and an upper bound of every other."""

BOUNDS = {
    "l2": ("gaussian", "renyi", "pixeldp", "composed"),
    "linf": ("gaussian", "renyi", "pixeldp", "composed"),
    "each-word": ("gaussian", "renyi", "pixeldp", "composed"),
    "l1": ("laplace",),
    "words": ("masking", "deletion"),
    "edits": ("deletion",),
    "synonyms": ("overlap",),
}
"""The bounds of each threat; the first is the default."""


@dataclass(frozen=True)
class Radii:
    """The radius functions of one input: the first is the one that is certified."""

    functions: Mapping[str, Radius]
    whole: bool = False
    """Radii count words."""
    changeable: int | None = None
    """How many words could be replaced at all, where that is known."""
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.functions))

    def certified(self, p_top: float, p_second: float) -> float:
        return self.functions[self.names[0]](p_top, p_second)

    def every(self, p_top: float, p_second: float) -> dict[str, float]:
        """The radius by each bound, from the same votes."""
        return {name: radius(p_top, p_second) for name, radius in self.functions.items()}

    def threshold(self, radius: float) -> float | None:
        """The least p_top with a radius of at least ``radius``, to a step of 2⁻⁵³; None if there is none."""

        def enough(p: float) -> bool:
            return self.certified(p, the_rest(p)) >= radius

        low, high = 0.5 + TINIEST, 1 - TINIEST
        if not enough(high):
            return None
        if enough(low):
            return low
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high


def the_rest(p_top: float) -> float:
    """1 − p_top, rounded up: what all other classes have together, at most."""
    return math.nextafter(1 - p_top, 1.0)


def noise_radii(threat: str, bounds: Sequence[str], *, sigmas: Sequence[float], dim: int) -> Radii:
    """Radii of distances under noise; ``sigmas`` are the steps of the prediction.

    ``dim`` counts what may move at once: coordinates for linf, word tokens for each-word.
    """
    total = float(composed_sigma(list(sigmas)))
    every: dict[str, Radius] = {
        "gaussian": lambda top, second: gaussian_l2(top, second, total),
        "renyi": lambda top, second: renyi_l2(top, second, total),
        "pixeldp": lambda top, second: pixeldp_l2(top, second, total),
        "composed": lambda top, second: composed_l2(top, second, list(sigmas)),
        "laplace": lambda top, second: laplace_l1(top, second, sigmas[0]),
    }
    if threat in ("linf", "each-word"):
        # |v|_2 ≤ √d·max |v_i|, for d numbers and for d vectors alike
        share = (1 - 2 * SLACK) / math.sqrt(dim)
        every = {name: _times(radius, share) for name, radius in every.items()}
        over_all = composed_linf if threat == "linf" else composed_each_word
        every["gaussian"] = lambda top, second: over_all(top, second, [total], dim)
        every["composed"] = lambda top, second: over_all(top, second, list(sigmas), dim)
    return Radii({name: every[name] for name in bounds})


def masking_radii(total: int, kept: int) -> Radii:
    """Words under random masking."""

    def radius(top: float, second: float) -> float:
        return masked_words(as_majority(top, second), total, kept) if total else 0

    return Radii({"masking": radius}, whole=True)


def deletion_radii(threat: str, rate: float, *, within_bin: int | None) -> Radii:
    """Words or edits under random deletion; edits that change the length stay in the bin of the rate."""

    def of_edits(top: float, second: float) -> float:
        found = int(deletion_edits(as_majority(top, second), rate))
        return found if within_bin is None else min(found, within_bin)

    if threat == "words":
        return Radii(
            {"deletion": lambda top, second: deletion_words(as_majority(top, second), rate)}, whole=True
        )
    return Radii({"deletion": of_edits}, whole=True)


def as_majority(p_top: float, p_second: float) -> float:
    """The majority ½ + (p_top − p_second)/2 that keeps its answer as long as this lead does; p_top at least.

    Where a changed text shows the same in all but a share Δ of the draws, the first class loses at most Δ and
    any other gains at most Δ: the answer stays while p_top − p_second > 2Δ, as that majority does while it
    stays above ½ + Δ. Deletion's bound for other numbers of lost and gained words turns on the lead alike
    (docs/bounds.md). With p_second = 1 − p_top it is p_top itself.
    """
    lead = math.nextafter(p_top - p_second, 0.0)
    return max(p_top, math.nextafter(0.5 + lead / 2, 0.0)) if lead > 0 else p_top


def synonym_radii(overlaps: Sequence[float]) -> Radii:
    """Words under random synonyms; ``overlaps`` of every word that has substitutes."""

    def radius(top: float, second: float) -> float:
        return synonym_words(top, second, list(overlaps)) if overlaps else 0

    return Radii({"overlap": radius}, whole=True, changeable=len(overlaps))


def _times(radius: Radius, share: float) -> Radius:
    return lambda top, second: radius(top, second) * share
