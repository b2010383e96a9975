"""What early stopping saves: draws until «is the radius at least r?» is decided, over the fixed number.

The same votes are asked in both ways, so decisions can be compared input by input. Part of certify_speed.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unfooled.certificates.procedure import Smoother, sample_votes
from unfooled.certificates.radii import noise_radii
from unfooled.certificates.sampling import Sampling

ASKED = (0.25, 0.5, 1.0, 1.5, 2.0)
"""Radii that are asked for, in units of σ."""


@dataclass(frozen=True)
class Recorded:
    """Votes that were drawn before: ``(inputs, draws)``, true for the first class."""

    votes: NDArray[np.bool_]

    def counts(self, requests: Sequence[tuple[int, int, int]]) -> list[NDArray[np.int64]]:
        hits = [int(self.votes[owner, first : first + count].sum()) for owner, first, count in requests]
        return [np.array([own, count - own]) for own, (_, _, count) in zip(hits, requests, strict=True)]


def simulated(shares: NDArray[np.float64], n: int) -> Smoother:
    """Votes of inputs whose first class has these shares."""
    rng = np.random.default_rng(0)
    select, estimate = (Recorded(rng.random((len(shares), size)) < shares[:, None]) for size in (100, n))
    return Smoother(select, estimate, 2, len(shares))


def compared(smoother: Smoother, *, sigma: float, n: int) -> list[dict[str, Any]]:
    """For each radius asked for: draws of ``--adaptive`` over fixed ones, and how often they agree."""
    radii = noise_radii("l2", ["gaussian"], sigmas=[sigma], dim=1)
    fixed = dict(sample_votes(smoother, Sampling(n=n), lambda _: radii))
    rows = []
    for asked in ASKED:
        sampling = Sampling(n=n, adaptive=True, radius=asked * sigma)
        found = dict(sample_votes(smoother, sampling, lambda _: radii))
        yes = {
            number: votes.certified and radii.certified(votes.p_top, votes.p_second) >= asked * sigma
            for number, votes in fixed.items()
        }
        rows.append(
            {
                "radius": asked,
                "yes_fixed": sum(yes.values()),
                "yes_adaptive": sum(votes.answer == "yes" for votes in found.values()),
                "agreement": sum((found[i].answer == "yes") == yes[i] for i in yes) / len(yes),
                "draws_over_fixed": sum(votes.samples for votes in found.values())
                / sum(votes.samples for votes in fixed.values()),
            }
        )
    return rows


def show(source: str, rows: Sequence[dict[str, Any]], *, n: int) -> None:
    print(f"early stopping, {source}, of {n} draws (must be at most 0.3):")
    for row in rows:
        print(
            f"  radius ≥ {row['radius']:g} σ: {row['draws_over_fixed']:.3f} of the draws, "
            f"{row['agreement']:.1%} equal decisions ({row['yes_adaptive']} yes, fixed {row['yes_fixed']})"
        )
    mean = sum(row["draws_over_fixed"] for row in rows) / len(rows)
    print(f"  all radii: {mean:.3f}")
