"""What the randomised predictors have in common: noise, masking, and how they are checked and saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from unfooled.files import JsonObject
from unfooled.models import EncodedInput, Model, Noise, Site
from unfooled.predictors.ballots import Draws
from unfooled.predictors.input_parts import Parts
from unfooled.predictors.masking import Masking, MaskPlan, check_randomisation, make_plan
from unfooled.predictors.predictor import Seed
from unfooled.settings import MOST_VOTES, setting


@dataclass(frozen=True)
class Randomised:
    """Base of the predictors that vote over noisy forwards of masked inputs."""

    name: ClassVar[str]

    sigma: float = setting(0.2, "Noise standard deviation (σ); 0 for none", at_least=0)
    noise_layers: tuple[Site, ...] = setting((0,), "Blocks whose output takes the noise")
    masked_tokens: int = setting(2, "Masked tokens (M)", at_least=0)
    masked_share: float | None = setting(
        None,
        "Mask at most this share of a text's tokens, rounded (very short texts keep all); M is the limit",
        at_least=0,
        at_most=1,
    )
    saliency_draws: int = setting(1, "Noise draws of the saliency pass (ν)", at_least=1, at_most=MOST_VOTES)
    masking: Masking = setting("gradient", "gradient (RSMI), random, or none (NoMask)")

    @property
    def randomised(self) -> bool:
        """Noise, or masks that are drawn.

        Without noise the most salient tokens are always the same; drawing among more of them is random.
        """
        if self.noise.sites and self.noise.scale > 0:
            return True
        if self.masking == "none" or self.masked_tokens == 0:
            return False
        return self.masking == "random" or self.pool > self.masked_tokens

    @property
    def pool(self) -> int:
        """How many of the most salient tokens masks are drawn from: M, unless a predictor has N."""
        return self.masked_tokens

    @property
    def noise(self) -> Noise:
        """What is added in every forward pass, and where."""
        return Noise(self.sigma, self.noise_layers)

    def check(self, model: Model) -> None:
        check_randomisation(
            model,
            sites=self.noise_layers,
            sigma=self.sigma,
            masking=self.masking,
            masked_tokens=self.masked_tokens,
            candidates=self.pool,
        )

    def planned(self, model: Model, encoded: Sequence[EncodedInput], seed: Seed) -> tuple[MaskPlan, Noise]:
        """The saliency pass alone: which tokens may be masked, and the noise of the ballots."""
        noise = self.noise
        plan = make_plan(
            model,
            encoded,
            seed=seed,
            noise=noise,
            masking=self.masking,
            masked_tokens=self.masked_tokens,
            candidates=self.pool,
            saliency_draws=self.saliency_draws,
            masked_share=self.masked_share,
        )
        return plan, noise

    def begin(self, parts: Parts, seed: Seed, *, rounds: bool = False) -> tuple[MaskPlan, Draws]:
        """The saliency pass, and the means to cast ballots; ``rounds``: the same inputs more than once."""
        plan, noise = self.planned(parts.model, parts.rows, parts.seeds(seed))
        return plan, Draws(parts.model, parts.rows, noise, rounds=rounds)

    def shown_masks(self, parts: Parts, plan: MaskPlan, owner: int) -> tuple[int, ...]:
        """The most salient positions, which a decision reports as masked."""
        if self.masking != "gradient":
            return ()
        top = [own[:count] for own, count in zip(plan.ranked, plan.amounts, strict=True)]
        return parts.positions(owner, top)

    def describe(self) -> JsonObject:
        return {"name": self.name, **asdict(self), "noise_layers": list(self.noise_layers)}
