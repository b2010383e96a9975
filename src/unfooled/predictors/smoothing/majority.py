"""The deployed mode that keeps a certificate's promise: the smoothed majority at an error rate, or none.

A certificate is about the majority over all draws, and a vote of a few draws may miss it where it is close.
Here draws are made until the sequential test of ``predictors.sequential`` decides, and an undecided vote
abstains: *an answer that is given differs from the smoothed majority with probability at most ε*, for inputs
that were chosen without knowing the draws. So the seed must be secret.

A question has any number of answers, which that test does not serve. Its first draws choose one, and further
draws test whether that one has at least half of all (``SequentialDecision``): no other one can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from unfooled.files import JsonObject
from unfooled.models import EncodedInput, Model
from unfooled.predictors.predictor import Seed
from unfooled.predictors.sequential import fewest_votes, is_decided
from unfooled.predictors.smoothing.answer_votes import AnswerSampler
from unfooled.predictors.smoothing.base import Transformation
from unfooled.predictors.smoothing.model_check import ModelCheck
from unfooled.predictors.smoothing.streams import DECIDE, DRAWS_VERSION
from unfooled.predictors.tally import argmax
from unfooled.records.decision import Decision
from unfooled.statistics.confidence import SequentialDecision, Verdict

CHOOSING = 16
"""Draws that choose an answer to a question; they are not counted for it."""
LOOK_GROWTH = 1.5
"""A vote that is not decided goes on to so many times its draws before the next look."""


@dataclass(frozen=True)
class Majority:
    """The most probable class of a transformation, decided at ``error_rate`` within ``max_votes`` draws."""

    name: ClassVar[str] = "certified"
    draws_version: ClassVar[int] = DRAWS_VERSION

    transformation: Transformation
    error_rate: float = 0.001
    max_votes: int = 1000

    @property
    def randomised(self) -> bool:
        return True

    def check(self, model: Model) -> None:
        """The transformation was checked with the predictor it comes from."""

    def decide(self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed = 0) -> list[Decision]:
        if not encoded:
            return []
        sampler = self.transformation.sampler(model, encoded, seed=seed, purpose=DECIDE)
        sampler.check = ModelCheck(model)
        if isinstance(sampler, AnswerSampler):
            return [
                sampler.named(owner, self._of_answers(sampler, owner, len(model.parts(item))))
                for owner, item in enumerate(encoded)
            ]
        counts = np.zeros((len(encoded), model.num_labels), dtype=np.int64)
        undecided, drawn = list(range(len(encoded))), 0
        until = min(self.max_votes, fewest_votes(self.error_rate, model.num_labels))
        while undecided and drawn < until:
            counts[undecided] += sampler.counts([(owner, drawn, until - drawn) for owner in undecided])
            undecided = [
                owner for owner in undecided if not is_decided(counts[owner].tolist(), self.error_rate)
            ]
            drawn, until = until, min(self.max_votes, int(until * LOOK_GROWTH) + 1)
        return [
            self._decision(own, decided=owner not in undecided) for owner, own in enumerate(counts.tolist())
        ]

    def describe(self) -> JsonObject:
        return {"name": self.name, **asdict(self)}

    def _of_answers(self, sampler: AnswerSampler, owner: int, windows: int) -> Decision:
        """The answer that the first draws choose, if the others show that it has at least half of all."""
        drawn = min(CHOOSING, self.max_votes)
        (counts,) = sampler.counts([(owner, 0, drawn)])
        leader, decided = argmax(counts.tolist()), False
        if drawn < self.max_votes:
            test = SequentialDecision(0.5, self.error_rate, max_samples=self.max_votes - drawn)
            while test.open:
                until = min(self.max_votes, max(drawn + CHOOSING, int(drawn * LOOK_GROWTH)))
                (more,) = sampler.counts([(owner, drawn, until - drawn)])
                test.update(int(more[leader]), until - drawn)
                counts = np.pad(counts, (0, len(more) - len(counts))) + more
                drawn = until
            decided = test.answer is Verdict.YES
        return Decision(
            label=leader,
            scores=tuple(count / drawn for count in counts.tolist()),
            votes=(tuple(counts.tolist()),),
            forwards=drawn * windows,
            abstained=not decided,
            decided=decided,
        )

    def _decision(self, votes: list[int], *, decided: bool) -> Decision:
        return Decision(
            label=argmax(votes),
            scores=tuple(count / sum(votes) for count in votes),
            votes=(tuple(votes),),
            forwards=sum(votes) * int(getattr(self.transformation, "forwards_a_draw", 1)),
            abstained=not decided,
            decided=decided,
        )
