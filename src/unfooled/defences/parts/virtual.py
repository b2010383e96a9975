"""Virtual adversaries: the input nearby whose answer differs most from the model's own, whatever the label.

SMART, ALUM and TRADES add a term to plain fine-tuning that draws the two answers together. They share these
settings; each has its own divergence, its own directions and its own defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from torch import Tensor

from unfooled.attacks.image.ball import RADII
from unfooled.defences.parts.scale import fitted
from unfooled.defences.session import Pass
from unfooled.models import Model
from unfooled.models.ascent import Ascent, Direction, Raised, climb, from_normal
from unfooled.predictors import Plain, Predictor
from unfooled.settings import setting

AnyVirtual = TypeVar("AnyVirtual", bound="Virtual")
MOST_ASCENTS = 1000
PIXELS = {"step_size": RADII["linf"], "init": 0.001}
"""Of images: the largest coordinate of a step is the size of the default attack; the noise is TRADES's."""


@dataclass(frozen=True)
class Virtual:
    """Settings of a method with a virtual adversary."""

    certifies: ClassVar[tuple[str, ...]] = ()
    deployed_as: ClassVar[str] = "plain"
    weights: ClassVar[tuple[str, ...]] = ("weight",)
    shares: ClassVar[dict[str, float]]
    """Sizes that are fitted to the encoder where they are not given, by the distance of two random words."""

    weight: float
    steps: int = setting(1, "Ascent steps (K)", at_least=0, at_most=MOST_ASCENTS)
    step_size: float | None = setting(
        None, "Size of an ascent step (η); fitted to the encoder if not given", at_least=0
    )
    init: float | None = setting(
        None, "Standard deviation of the noise that the ascent begins with; fitted if not given", at_least=0
    )

    def resolved(self: AnyVirtual, model: Model) -> AnyVirtual:
        sizes: dict[str, Any] = {
            name: fitted(model, name, getattr(self, name), share, PIXELS[name])
            for name, share in self.shares.items()
        }
        return replace(self, **sizes)

    def predictor(self, model: Model) -> Predictor:
        return Plain()

    def adversary(
        self, model: Model, seen: Pass, raised: Raised, along: Direction, radius: float | None = None
    ) -> Tensor:
        """δ that raises a function of the logits, from noise around the start of a pass."""
        assert self.step_size is not None and self.init is not None
        ascent = Ascent(self.step_size, along, radius)
        noise = from_normal(seen.start.detach(), seen.batch, self.init)
        return climb(model, seen.batch, seen.start, ascent.within(noise), ascent, self.steps, raised)
