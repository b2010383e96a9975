"""RSMI's two-step prediction (Moon et al. 2023, Algorithm 1).

k0 noisy forwards of the input masked at its top-M salient tokens; if the winner passes the one-tailed
binomial test, it is the answer. Otherwise k1 inputs, each masking M of the top-N tokens, one noisy
forward each. The test is the one of the authors' code: ``binom.cdf(n_a, k0, 1/2) > alpha``, which for
k0 = 5 and alpha = 0.98 means unanimity. With output ``vote``, the last quarter of the second stage is
not cast where it cannot change the answer any more; ``mean-logit`` casts every ballot.
``second_stage="sequential"`` casts the same ballots one after another and stops as soon as those still to
come would change the answer with a probability of at most ``second_error`` (``statistics/curtailment.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

from unfooled.errors import UsageError
from unfooled.models import Compared, EncodedInput, Model
from unfooled.predictors.ballots import Draws
from unfooled.predictors.input_parts import Parts, parts_of
from unfooled.predictors.masking import MaskPlan
from unfooled.predictors.predictor import Seed
from unfooled.predictors.randomised import Randomised
from unfooled.predictors.tally import Output, abstains, argmax, count_votes, scores_of
from unfooled.records.decision import Decision
from unfooled.settings import MOST_VOTES, setting
from unfooled.statistics.curtailment import cannot_change, change_probability

SecondStage = Literal["fixed", "sequential"]
ROUND = 4
"""Ballots of a sequential second stage that are cast together, of every open input at once."""
Logits = Sequence[Sequence[float]]


@dataclass(frozen=True)
class TwoStep(Randomised):
    """Two-step masked vote. ``masking="none"`` is the paper's NoMask."""

    name: ClassVar[str] = "two-step"

    candidates: int = setting(4, "Most salient tokens to draw the masks from (N)", at_least=0)
    first_votes: int = setting(5, "Votes of the first stage (k0)", at_least=1, at_most=MOST_VOTES)
    second_votes: int = setting(50, "Votes of the second stage (k1)", at_least=1, at_most=MOST_VOTES)
    second_stage: SecondStage = setting(
        "fixed", "fixed (k1 votes), or sequential (stops when the rest would hardly change the answer)"
    )
    second_error: float = setting(
        0.03,
        "Sequential second stage: stop when the rest changes the answer with at most this probability",
        at_least=0,
        at_most=0.5,
    )
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

    def check(self, model: Model) -> None:
        super().check(model)
        if self.second_stage == "fixed":
            return
        if self.output != "vote":
            raise UsageError(
                "second_stage: sequential stops when the votes are decided, but output is mean-logit, the "
                "average of all k1 ballots. Set second_stage=fixed or output=vote."
            )
        if not self._only_the_winner_counts:
            raise UsageError(
                "second_stage: sequential stops before the vote is complete, but abstain_below and "
                "abstain_error_rate judge the complete vote. Set second_stage=fixed, or choose the predictor "
                "'sequential', which abstains at its error_rate."
            )

    def decide(self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed = 0) -> list[Decision]:
        parts = parts_of(model, encoded)
        plan, draws = self.begin(parts, seed, rounds=True)
        first: dict[int, list[Any]] = {place: [] for place in range(len(parts.rows))}
        draws.extend(first, range(len(parts.rows)), self.first_votes, plan.top)
        open_ones = [owner for owner in range(len(encoded)) if not self._stands(parts.compared(owner, first))]
        draws.close(parts.places(set(range(len(encoded))) - set(open_ones)))
        second, counted = self._second_stage(parts, plan, draws, open_ones)
        return [
            self._decision(parts, plan, owner, first, second, counted.get(owner))
            for owner in range(len(encoded))
        ]

    def _stands(self, found: Compared) -> bool:
        return max(count_votes(found.rows)) >= votes_to_pass(self.first_votes, self.alpha)

    def _second_stage(
        self, parts: Parts, plan: MaskPlan, draws: Draws, owners: Sequence[int]
    ) -> tuple[dict[int, list[Any]], dict[int, int]]:
        """The ballots of each part, and how many of each owner count: none after the vote was over."""
        cast: dict[int, list[Any]] = {place: [] for place in parts.places(owners)}
        counted: dict[int, int] = {}
        open_ones = list(owners)
        for size in self._rounds():
            draws.extend(cast, parts.places(open_ones), size, plan.sampled)
            for owner in open_ones:
                rows = parts.compared(owner, cast).rows
                if (stop := self._stop(rows, len(rows) - size)) is not None:
                    counted[owner] = stop
            draws.close(parts.places(owner for owner in open_ones if owner in counted))
            open_ones = [owner for owner in open_ones if owner not in counted]
        return cast, {owner: counted.get(owner, len(cast[parts.of[owner][0]])) for owner in owners}

    def _rounds(self) -> list[int]:
        """All ballots at once; or in parts, where the rest may not be needed."""
        votes = self.second_votes
        if self.second_stage == "sequential":
            return [min(ROUND, votes - done) for done in range(0, votes, ROUND)]
        if self.output != "vote" or not self._only_the_winner_counts or votes < 4:
            return [votes]
        first = math.ceil(0.75 * votes)
        return [first, votes - first]

    @property
    def _only_the_winner_counts(self) -> bool:
        return self.abstain_below == 0 and self.abstain_error_rate is None

    def _stop(self, logits: Logits, looked_at: int) -> int | None:
        """After how many ballots the vote is over, if it is.

        A sequential vote is looked at after every ballot, so that the answer does not depend on the rounds.
        """
        votes = self.second_votes
        if self.second_stage == "fixed":
            return len(logits) if cannot_change(count_votes(logits), votes - len(logits)) else None
        counts = [0] * len(logits[0])
        for number, row in enumerate(logits, start=1):
            counts[argmax(row)] += 1
            if number > looked_at and change_probability(tuple(counts), votes - number) <= self.second_error:
                return number
        return None

    def _decision(
        self,
        parts: Parts,
        plan: MaskPlan,
        owner: int,
        first: Mapping[int, list[Any]],
        second: Mapping[int, list[Any]],
        counted: int | None,
    ) -> Decision:
        places = parts.of[owner]
        stages = {place: first[place] + (second[place][:counted] if counted else []) for place in places}
        found = parts.compared(owner, stages)  # one list of answers for both stages
        begun, final = found.rows[: self.first_votes], found.rows[self.first_votes :] or found.rows
        votes = [count_votes(stage) for stage in ([begun, final] if counted else [begun])]
        scores = scores_of(final, self.output)
        ballots = self.first_votes + (len(second[places[0]]) if counted else 0)
        return Decision(
            label=argmax(scores),
            scores=scores,
            votes=tuple(votes),
            masked=self.shown_masks(parts, plan, owner),
            forwards=len(places) * (plan.saliency_forwards + ballots),
            abstained=abstains(
                votes[-1], scores, below=self.abstain_below, error_rate=self.abstain_error_rate
            ),
            answers=found.answers,
        )


@lru_cache
def votes_to_pass(votes: int, alpha: float) -> int:
    """The smallest count n with ``binom.cdf(n, votes, 1/2) > alpha``; ``votes + 1`` if there is none."""
    from scipy.stats import binom

    for count in range(votes + 1):
        if float(binom.cdf(count, votes, 0.5)) > alpha:
            return count
    return votes + 1
