"""One-stage votes: RSMI's single step and the ablations of its paper (Tables 1 and 3, Fig. 3).

``masking="gradient"`` with noise is RSMI without the second stage; without noise and with one vote it is
GM. ``masking="random"`` without noise is RM: k inputs with M tokens masked at random.
``masking="none"`` is the plain noisy vote of randomised smoothing; with the noise at the embeddings it can be
certified, ``kind="gaussian"`` for the Euclidean distance and ``"laplace"`` for the sum of all changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unfooled.models import EncodedInput, Model, Noise
from unfooled.models.noise import NoiseKind
from unfooled.predictors.input_parts import parts_of
from unfooled.predictors.masking import Masking
from unfooled.predictors.predictor import Seed
from unfooled.predictors.randomised import Randomised
from unfooled.predictors.tally import Output, abstains, argmax, count_votes, scores_of
from unfooled.records.decision import Decision
from unfooled.settings import MOST_VOTES, setting


@dataclass(frozen=True)
class Vote(Randomised):
    """k forwards, majority vote or mean logit."""

    name: ClassVar[str] = "vote"
    votes: int = setting(5, "Votes (k)", at_least=1, at_most=MOST_VOTES)
    output: Output = setting("vote", "vote or mean-logit")
    kind: NoiseKind = setting(
        "gaussian", "Noise: gaussian (σ its standard deviation) or laplace (σ its scale)"
    )
    masking: Masking = setting("none", "gradient (single-step RSMI, GM), random (RM), or none")
    abstain_below: float = setting(0.0, "Abstain if the leading score is below this", at_least=0, at_most=1)
    abstain_error_rate: float | None = setting(
        None, "Abstain unless the leader is significant at this error rate", at_least=0, at_most=1
    )

    @property
    def noise(self) -> Noise:
        return Noise(self.sigma, self.noise_layers, self.kind)

    def decide(self, model: Model, encoded: Sequence[EncodedInput], *, seed: Seed = 0) -> list[Decision]:
        parts = parts_of(model, encoded)
        plan, draws = self.begin(parts, seed)
        readings: list[list[Any]] = [[] for _ in parts.rows]
        draws.extend(readings, range(len(parts.rows)), self.votes, plan.top)
        decisions = []
        for owner in range(len(encoded)):
            found = parts.compared(owner, readings)
            scores = scores_of(found.rows, self.output)
            votes = count_votes(found.rows)
            decisions.append(
                Decision(
                    label=argmax(scores),
                    scores=scores,
                    votes=(votes,),
                    masked=self.shown_masks(parts, plan, owner),
                    forwards=len(parts.of[owner]) * (plan.saliency_forwards + self.votes),
                    abstained=abstains(
                        votes, scores, below=self.abstain_below, error_rate=self.abstain_error_rate
                    ),
                    answers=found.answers,
                )
            )
        return decisions
