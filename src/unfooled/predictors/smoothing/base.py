"""What the smoothed predictors have in common: votes over random versions of the input, saved and counted.

A smoothed predictor answers with the class that the base classifier gives most often over its random
transformation. ``sampler`` draws single answers, for certificates; ``decide`` counts ``votes`` of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Protocol

from unfooled.models import EncodedInput, Model
from unfooled.predictors.predictor import Seed
from unfooled.predictors.smoothing.answer_votes import AnswerSampler
from unfooled.predictors.smoothing.streams import DECIDE, DRAWS_VERSION, LabelSampler
from unfooled.predictors.tally import abstains, argmax
from unfooled.records.decision import Decision
from unfooled.settings import MOST_VOTES, setting


class Transformation(Protocol):
    """Settings of a random transformation that labels can be drawn under."""

    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> LabelSampler: ...


@dataclass(frozen=True)
class SmoothedVote(ABC):
    """Base of the predictors that can be certified."""

    name: ClassVar[str]
    forwards_a_draw: ClassVar[int] = 1
    draws_version: ClassVar[int] = DRAWS_VERSION
    draws: ClassVar[str] = "random versions of the input"
    """What is voted over, in words."""

    votes: int = setting(20, "Votes (k)", at_least=1, at_most=MOST_VOTES)
    abstain_below: float = setting(0.0, "Abstain if the leading score is below this", at_least=0, at_most=1)
    abstain_error_rate: float | None = setting(
        None, "Abstain unless the leader is significant at this error rate", at_least=0, at_most=1
    )

    @property
    def randomised(self) -> bool:
        return True

    @abstractmethod
    def check(self, model: Model) -> None:
        """Refuse settings that this model cannot serve, naming the setting."""

    @abstractmethod
    def sampler(
        self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed, purpose: str
    ) -> LabelSampler:
        """Draws labels of these inputs; ``purpose`` keeps draws for different ends apart."""

    def drawn_for(self, word: str) -> tuple[str, ...]:
        """What may stand in a version where the input has ``word``, each as often."""
        return (word,)

    def decide(self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed = 0) -> list[Decision]:
        sampler = self.sampler(model, encoded, seed=seed, purpose=DECIDE)
        counts = sampler.counts([(owner, 0, self.votes) for owner in range(len(encoded))])
        decisions = [self._decision(tuple(int(count) for count in found)) for found in counts]
        if not isinstance(sampler, AnswerSampler):
            return decisions
        return [
            sampler.named(owner, replace(own, forwards=own.forwards * len(model.parts(encoded[owner]))))
            for owner, own in enumerate(decisions)
        ]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, **asdict(self)}

    def _decision(self, votes: tuple[int, ...]) -> Decision:
        scores = tuple(count / self.votes for count in votes)
        return Decision(
            label=argmax(scores),
            scores=scores,
            votes=(votes,),
            forwards=self.votes * self.forwards_a_draw,
            abstained=abstains(votes, scores, below=self.abstain_below, error_rate=self.abstain_error_rate),
        )


def seeds_of(seed: Seed, count: int) -> list[int]:
    """One seed per input."""
    return [seed] * count if isinstance(seed, int) else list(seed)
