"""RSMI's two-step prediction (Moon et al. 2023, Algorithm 1).

k0 noisy forwards of the input masked at its top-M salient tokens; if the winner passes the one-tailed
binomial test, it is the answer. Otherwise k1 inputs, each masking M of the top-N tokens, one noisy
forward each. The test is the one of the authors' code: ``binom.cdf(n_a, k0, 1/2) > alpha``, which for
k0 = 5 and alpha = 0.98 means unanimity. With output ``vote``, the last quarter of the second stage is
not cast where it cannot change the answer any more; ``mean-logit`` casts every ballot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from unfooled.models import EncodedInput, Model
from unfooled.predictors.ballots import Draws
from unfooled.predictors.masking import MaskPlan
from unfooled.predictors.predictor import Seed
from unfooled.predictors.randomised import Randomised
from unfooled.predictors.tally import Output, abstains, argmax, count_votes, scores_of
from unfooled.records.decision import Decision
from unfooled.settings import MOST_VOTES, setting

Logits = list[list[float]]


@dataclass(frozen=True)
class TwoStep(Randomised):
    """Two-step masked vote. ``masking="none"`` is the paper's NoMask."""

    name: ClassVar[str] = "two-step"

    candidates: int = setting(4, "Most salient tokens to draw the masks from (N)", at_least=0)
    first_votes: int = setting(5, "Votes of the first stage (k0)", at_least=1, at_most=MOST_VOTES)
    second_votes: int = setting(50, "Votes of the second stage (k1)", at_least=1, at_most=MOST_VOTES)
    alpha: float = setting(
        0.98, "The first vote stands if its binomial CDF exceeds this (α)", at_least=0, at_most=1
    )
    output: Output = setting("vote", "vote, or mean-logit (what an attacker who sees scores gets)")
    abstain_below: float = setting(0.0, "Abstain if the leading score is below this", at_least=0, at_most=1)
    abstain_error_rate: float | None = setting(
        None, "Abstain unless the leader is significant at this error rate", at_least=0, at_most=1
    )

    @property
    def pool(self) -> int:
        return self.candidates

    def decide(self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed = 0) -> list[Decision]:
        plan, draws = self.begin(model, encoded, seed)
        classes = model.num_labels
        first: list[Logits] = [[] for _ in encoded]
        draws.extend(first, range(len(encoded)), self.first_votes, plan.top)
        open_ones = [owner for owner, logits in enumerate(first) if not self._stands(logits, classes)]
        second = self._second_stage(plan, draws, open_ones, classes)
        return [
            self._decision(plan, owner, first[owner], second.get(owner), classes)
            for owner in range(len(encoded))
        ]

    def _stands(self, logits: Logits, classes: int) -> bool:
        return max(count_votes(logits, classes)) >= votes_to_pass(self.first_votes, self.alpha)

    def _second_stage(
        self, plan: MaskPlan, draws: Draws, owners: Sequence[int], classes: int
    ) -> dict[int, Logits]:
        logits: dict[int, Logits] = {owner: [] for owner in owners}
        open_ones = list(owners)
        for size in self._rounds():
            draws.extend(logits, open_ones, size, plan.sampled)
            open_ones = [
                owner for owner in open_ones if not _settled(logits[owner], classes, self.second_votes)
            ]
        return logits

    def _rounds(self) -> list[int]:
        """All ballots at once; or three quarters first, where the rest may not be needed."""
        only_the_winner_counts = self.abstain_below == 0 and self.abstain_error_rate is None
        if self.output != "vote" or not only_the_winner_counts or self.second_votes < 4:
            return [self.second_votes]
        # Each round runs the blocks before the first noise site again, so more rounds would not pay.
        first = math.ceil(0.75 * self.second_votes)
        return [first, self.second_votes - first]

    def _decision(
        self, plan: MaskPlan, owner: int, first: Logits, second: Logits | None, classes: int
    ) -> Decision:
        final = first if second is None else second
        votes = [count_votes(first, classes)] + ([] if second is None else [count_votes(second, classes)])
        scores = scores_of(final, self.output, classes)
        return Decision(
            label=argmax(scores),
            scores=scores,
            votes=tuple(votes),
            masked=self.shown_masks(plan, owner),
            forwards=plan.saliency_forwards + len(first) + len(second or []),
            abstained=abstains(
                votes[-1], scores, below=self.abstain_below, error_rate=self.abstain_error_rate
            ),
        )


@lru_cache
def votes_to_pass(votes: int, alpha: float) -> int:
    """The smallest count n with ``binom.cdf(n, votes, 1/2) > alpha``; ``votes + 1`` if there is none."""
    from scipy.stats import binom

    for count in range(votes + 1):
        if float(binom.cdf(count, votes, 0.5)) > alpha:
            return count
    return votes + 1


def _settled(logits: Logits, classes: int, votes: int) -> bool:
    """No ballot still to come can change the winner (ties go to the lower class, as in argmax)."""
    counts = count_votes(logits, classes)
    leader = argmax(counts)
    left = votes - len(logits)
    return all(
        counts[leader] > counts[other] + left or (counts[leader] == counts[other] + left and leader < other)
        for other in range(classes)
        if other != leader
    )
