"""The worst of several attacks on each image, as AutoAttack does it (Croce and Hein 2020).

The attacks are tried one after another, the cheapest first, and the first success within ε ends the search:
an image that holds has held against all of them. Without ``attacks`` they are PGD, APGD-CE, APGD-T and
Square, for ``norm=l2`` also C&W and the boundary attack, and with ``source`` the transfer attack.

Deviation: AutoAttack's FAB is not here; for ``norm=l2`` C&W looks for the nearest success in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from unfooled.attacks.attempt import Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.image.auto_pgd import ApgdCe, ApgdT
from unfooled.attacks.image.ball import Norm
from unfooled.attacks.image.boundary import Boundary
from unfooled.attacks.image.carlini_wagner import CarliniWagner
from unfooled.attacks.image.gradient_steps import PgdL2, PgdLinf
from unfooled.attacks.image.image_attempt import ImageAttempt
from unfooled.attacks.image.image_recipe import (
    EOT_HELP,
    EPS_HELP,
    MOST_DRAWS_A_STEP,
    MOST_STEPS,
    NORM_HELP,
    ImageRecipe,
    check_eps,
)
from unfooled.attacks.image.square import Square
from unfooled.attacks.image.transfer import SOURCE_HELP, Transfer
from unfooled.attacks.victim import ImageArray
from unfooled.errors import UsageError
from unfooled.settings import choose, setting

MEMBERS: Mapping[str, type[Any]] = {
    cls.name: cls for cls in (PgdLinf, PgdL2, ApgdCe, ApgdT, Square, CarliniWagner, Boundary, Transfer)
}


@dataclass(frozen=True)
class Worst:
    """Several attacks, until one succeeds."""

    name: ClassVar[str] = "worst"
    does: ClassVar[str] = "tries several attacks on each image"
    paper: ClassVar[str] = "The worst of several attacks, as in AutoAttack (Croce and Hein 2020, ICML)"
    reads: ClassVar[str] = "image"
    goal: ClassVar[GoalName] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ("gradients",)
    minimal: ClassVar[bool] = False
    version: ClassVar[int] = 2  # 1 ended at the first image that most of five answers got wrong

    norm: Norm = setting("linf", NORM_HELP)
    eps: float | None = setting(None, EPS_HELP, at_least=0)
    attacks: tuple[str, ...] = setting((), "The attacks, by name; those of the norm if not given")
    steps: int | None = setting(
        None,
        "Steps of PGD, APGD and transfer attacks; their own default if not given",
        at_least=1,
        at_most=MOST_STEPS,
    )
    restarts: int = setting(1, "Random starts of all but C&W and boundary", at_least=1, at_most=1000)
    eot: int = setting(10, EOT_HELP, at_least=1, at_most=MOST_DRAWS_A_STEP)
    source: str | None = setting(None, SOURCE_HELP)

    def __post_init__(self) -> None:
        check_eps(self.eps)
        self.members()

    @property
    def distance(self) -> Norm:
        return self.norm

    def cost(self) -> int:
        return sum(member.cost() for member in self.members())

    def members(self) -> list[ImageRecipe]:
        """The attacks, the cheapest first."""
        found = [self._made(name) for name in self.attacks] or self._by_norm()
        return sorted(found, key=lambda member: member.cost())

    def check_ready(self) -> None:
        """Refuse to begin without what a member needs."""
        for member in self.members():
            if isinstance(member, Transfer):
                member.check_ready()

    def search(self, attempt: ImageAttempt) -> Steps[ImageArray | None]:
        ball = attempt.ball(self.distance)
        for member in self.members():
            attempt.trying = member.name
            found = yield from member.search(attempt)
            if found is not None and ball.holds(attempt.image, found):
                attempt.found_by = member.name
                return found
        return None

    def _by_norm(self) -> list[ImageRecipe]:
        pgd = "pgd-linf" if self.norm == "linf" else "pgd-l2"
        found = [self._made(name) for name in (pgd, "apgd-ce", "apgd-t", "square")]
        if self.norm == "l2":
            found += [self._made("cw-l2"), self._made("boundary")]
        return found + ([self._made("transfer")] if self.source else [])

    def _made(self, name: str) -> ImageRecipe:
        cls = choose(MEMBERS, name, kind="attack to take the worst of")
        if name in ("pgd-linf", "pgd-l2") and not name.endswith(self.norm):
            raise UsageError(
                f"worst: {name} is for another norm than {self.norm}. Leave it out, or set norm."
            )
        own = {"norm": self.norm, "restarts": self.restarts, "eot": self.eot, "source": self.source}
        if self.steps is not None and "restarts" in {field.name for field in fields(cls)}:
            own["steps"] = self.steps
        known = {field.name for field in fields(cls)}
        made: ImageRecipe = cls(**{key: value for key, value in own.items() if key in known})
        return made
