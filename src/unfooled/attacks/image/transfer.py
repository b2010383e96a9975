"""Transfer: PGD on another run, whose result the victim is shown (Papernot et al. 2016).

The victim gives no gradient and is asked once per restart: what an attacker can do who has only its answers
and a model of the same task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unfooled.attacks.image.ball import Norm
from unfooled.attacks.image.gradient_steps import GradientSteps
from unfooled.attacks.image.image_recipe import NORM_HELP
from unfooled.errors import UsageError
from unfooled.settings import setting

SOURCE_HELP = "Run folder of the model that the image is crafted on: --set source=RUN"


@dataclass(frozen=True)
class Transfer(GradientSteps):
    """Crafted on another model."""

    name: ClassVar[str] = "transfer"
    does: ClassVar[str] = "changes pixels so that another model errs"
    paper: ClassVar[str] = "Papernot et al. 2016: Transferability in Machine Learning (crafted by PGD)"
    needs: ClassVar[tuple[str, ...]] = ("source",)
    slopes: ClassVar[str] = "source"

    source: str | None = setting(None, SOURCE_HELP)
    norm: Norm = setting("linf", NORM_HELP)

    def check_ready(self) -> None:
        """Refuse to begin without a source."""
        if not self.source:
            raise UsageError("transfer needs a run to craft images on: --set source=RUN.")

    @property
    def distance(self) -> Norm:
        return self.norm

    def cost(self) -> int:
        return self.restarts
