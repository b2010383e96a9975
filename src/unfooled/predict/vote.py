"""One-stage votes: RSMI's single step and the ablations of its paper (Tables 1 and 3, Fig. 3).

``masking="gradient"`` with noise is RSMI without the second stage; without noise and with one vote it is
GM. ``masking="random"`` without noise is RM: k inputs with M tokens masked at random.
``masking="none"`` is the plain noisy vote of randomised smoothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unfooled.models import Encoded, Noise, Site, TextClassifier
from unfooled.predict.abstention import abstains
from unfooled.predict.ballots import Draws
from unfooled.predict.decision import Decision
from unfooled.predict.masking import Masking, check_randomisation, make_plan
from unfooled.predict.tally import Output, argmax, count_votes, scores_of
from unfooled.settings import setting


@dataclass(frozen=True)
class Vote:
    """k forwards, majority vote or mean logit."""

    sigma: float = setting(0.2, "Noise standard deviation (σ); 0 for none", at_least=0)
    noise_layers: tuple[Site, ...] = setting((0,), "Blocks whose output takes the noise")
    masked_tokens: int = setting(2, "Masked tokens (M)", at_least=0)
    saliency_draws: int = setting(1, "Noise draws of the saliency pass (ν)", at_least=1)
    votes: int = setting(5, "Votes (k)", at_least=1)
    output: Output = setting("vote", "vote or mean-logit")
    masking: Masking = setting("none", "gradient (single-step RSMI, GM), random (RM), or none")
    abstain_below: float = setting(0.0, "Abstain if the leading score is below this", at_least=0, at_most=1)
    abstain_error_rate: float | None = setting(
        None, "Abstain unless the leader is significant at this error rate", at_least=0, at_most=1
    )

    def check(self, classifier: TextClassifier) -> None:
        check_randomisation(
            classifier,
            sites=self.noise_layers,
            sigma=self.sigma,
            masking=self.masking,
            masked_tokens=self.masked_tokens,
            candidates=self.masked_tokens,
        )

    def decide(
        self, classifier: TextClassifier, encoded: Sequence[Encoded], *, seed: int = 0
    ) -> list[Decision]:
        noise = Noise(self.sigma, self.noise_layers)
        plan = make_plan(
            classifier,
            encoded,
            seed=seed,
            noise=noise,
            masking=self.masking,
            masked_tokens=self.masked_tokens,
            candidates=self.masked_tokens,
            saliency_draws=self.saliency_draws,
        )
        logits: list[list[list[float]]] = [[] for _ in encoded]
        Draws(classifier, encoded, noise).extend(logits, range(len(encoded)), self.votes, plan.top)
        decisions = []
        for owner, rows in enumerate(logits):
            scores = scores_of(rows, self.output, classifier.num_labels)
            votes = count_votes(rows, classifier.num_labels)
            decisions.append(
                Decision(
                    label=argmax(scores),
                    scores=scores,
                    votes=(votes,),
                    masked=tuple(plan.ranked[owner][: plan.masked_tokens])
                    if self.masking == "gradient"
                    else (),
                    forwards=plan.saliency_forwards + self.votes,
                    abstained=abstains(
                        votes, scores, below=self.abstain_below, error_rate=self.abstain_error_rate
                    ),
                )
            )
        return decisions

    def describe(self) -> dict[str, Any]:
        return {"name": "vote", **asdict(self), "noise_layers": list(self.noise_layers)}
