"""A vote that stops as soon as the leader is decided, with a valid error rate at any stopping time.

The votes of one input are independent draws from its vote distribution. For each pair of classes
(a, b), the votes for either are coin tosses with probability θ = p_a / (p_a + p_b) of «a». Under
p_a ≤ p_b the mixture likelihood ratio

    E = 2 ∫_{1/2}^{1} (2θ)^s (2(1−θ))^f dθ

after s votes for a and f for b is a supermartingale with mean at most 1, so by Ville's inequality it
ever reaches (C − 1)/ε with probability at most ε/(C − 1). The answer is a as soon as that holds against
every b; a union over the C − 1 wrong classes gives: *a decided class differs from the most probable one with
probability at most ε, whenever the vote stops.* Peeking at a fixed-n test has no such guarantee. A vote that
is not decided after the last ballot promises nothing: it is marked (``decided``) and, by default, abstains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from unfooled.errors import UsageError
from unfooled.models import EncodedInput, Model
from unfooled.predictors.input_parts import Parts, parts_of
from unfooled.predictors.masking import MaskPlan
from unfooled.predictors.predictor import Seed
from unfooled.predictors.randomised import Randomised
from unfooled.predictors.tally import argmax, count_votes
from unfooled.records.decision import Decision
from unfooled.settings import MOST_VOTES, setting


@dataclass(frozen=True)
class Sequential(Randomised):
    """Masked noisy votes until the leader is decided at ``error_rate``, at most ``max_votes``."""

    name: ClassVar[str] = "sequential"

    candidates: int = setting(4, "Most salient tokens to draw the masks from (N)", at_least=0)
    max_votes: int = setting(
        55, "Largest number of votes (the paper's k0 + k1)", at_least=1, at_most=MOST_VOTES
    )
    error_rate: float = setting(
        0.05,
        "Probability that a decided answer is not the most probable class (ε)",
        at_least=1e-12,
        at_most=0.5,
    )
    abstain: bool = setting(
        True, "Abstain when undecided after max_votes; false names the leader, without the error rate"
    )

    @property
    def pool(self) -> int:
        return self.candidates

    def check(self, model: Model) -> None:
        super().check(model)
        if not model.num_labels:
            raise UsageError(
                "The predictor 'sequential' needs a fixed list of answers: its error rate counts how many "
                "wrong ones there are. A question has as many as its context has spans. Use two-step or vote."
            )

    def decide(self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed = 0) -> list[Decision]:
        parts = parts_of(model, encoded)
        plan, draws = self.begin(parts, seed, rounds=True)
        classes = model.num_labels
        logits: list[list[list[float]]] = [[] for _ in encoded]
        stopped: dict[int, tuple[int, ...]] = {}
        open_ones = list(range(len(encoded)))
        # The first round is the fewest votes that can decide; the stopping vote is then found one by
        # one, so that the answer does not depend on the size of the rounds.
        size = min(self.max_votes, fewest_votes(self.error_rate, classes))
        while open_ones:
            draws.extend(logits, open_ones, size, plan.sampled)
            for owner in open_ones:
                votes = first_decided(logits[owner], classes, self.error_rate)
                if votes is not None:
                    stopped[owner] = votes
            draws.close(owner for owner in open_ones if owner in stopped)
            open_ones = [o for o in open_ones if o not in stopped and len(logits[o]) < self.max_votes]
            size = min(4, self.max_votes - len(logits[open_ones[0]])) if open_ones else 0
        return [
            self._decision(parts, plan, owner, logits[owner], stopped.get(owner))
            for owner in range(len(encoded))
        ]

    def _decision(
        self,
        parts: Parts,
        plan: MaskPlan,
        owner: int,
        logits: list[list[float]],
        stopped: tuple[int, ...] | None,
    ) -> Decision:
        votes = stopped if stopped is not None else count_votes(logits)
        return Decision(
            label=argmax(votes),
            scores=tuple(count / sum(votes) for count in votes),
            votes=(votes,),
            masked=self.shown_masks(parts, plan, owner),
            forwards=plan.saliency_forwards + len(logits),
            abstained=self.abstain and stopped is None,
            decided=stopped is not None,
        )


@lru_cache(maxsize=65536)
def log_evidence(wins: int, losses: int) -> float:
    """log E for ``wins`` votes of a and ``losses`` of b: evidence against p_a ≤ p_b."""
    from scipy.special import betaln
    from scipy.stats import beta

    log_tail = float(beta.logsf(0.5, wins + 1, losses + 1))
    return (wins + losses + 1) * math.log(2) + float(betaln(wins + 1, losses + 1)) + log_tail


def is_decided(votes: Sequence[int], error_rate: float) -> bool:
    """The leader beats every other class at the error rate."""
    leader = argmax(votes)
    threshold = math.log((len(votes) - 1) / error_rate) if len(votes) > 1 else 0.0
    return all(
        log_evidence(votes[leader], count) >= threshold
        for index, count in enumerate(votes)
        if index != leader
    )


def first_decided(
    logits: Sequence[Sequence[float]], classes: int, error_rate: float
) -> tuple[int, ...] | None:
    """The counts at the first vote after which the leader is decided; None if there is none yet."""
    counts = [0] * classes
    for row in logits:
        counts[argmax(row)] += 1
        if is_decided(counts, error_rate):
            return tuple(counts)
    return None


@lru_cache
def fewest_votes(error_rate: float, classes: int) -> int:
    """How many unanimous votes decide."""
    votes = 1
    while not is_decided((votes, *[0] * (classes - 1)), error_rate):
        votes += 1
    return votes
