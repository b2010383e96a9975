"""What a recipe for images is: settings, a ball, and a search that asks through its attempt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol

from unfooled.attacks.attempt import Steps
from unfooled.attacks.goals import GoalName
from unfooled.attacks.image.ball import RADII, Ball, Norm
from unfooled.attacks.image.image_attempt import ImageAttempt
from unfooled.attacks.victim import ImageArray
from unfooled.errors import UsageError
from unfooled.settings import number_text

EPS_HELP = (
    "Size of the attack (ε): the largest distance of a success, pixels from 0 to 1; --sizes tries several"
)
NORM_HELP = "Distance that ε is measured in: linf or l2"
EOT_HELP = "Draws of a randomised victim's noise that each gradient is averaged over (EOT)"
MOST_STEPS = 100_000
MOST_DRAWS_A_STEP = 10_000


class ImageRecipe(Protocol):
    """A published attack on pixels as a frozen dataclass of settings with one method."""

    name: ClassVar[str]
    paper: ClassVar[str]
    goal: ClassVar[GoalName]
    reads: ClassVar[str]
    """``image``."""
    needs: ClassVar[tuple[str, ...]]
    """Services beyond the victim's answers: gradients, source, carlini."""
    minimal: ClassVar[bool]
    """Whether it looks for the nearest success, so that one search tells about every size up to its own."""

    @property
    def eps(self) -> float | None: ...

    @property
    def distance(self) -> Norm:
        """What its size is measured in."""
        ...

    def cost(self) -> int:
        """About how many forward passes an image takes that is not fooled."""
        ...

    def search(self, attempt: ImageAttempt) -> Steps[ImageArray | None]:
        """An image that reaches the goal, the nearest that was found; None if there is none."""
        ...


def size_of(recipe: ImageRecipe) -> float:
    """Its ε, or the default for its norm."""
    return RADII[recipe.distance] if recipe.eps is None else recipe.eps


def services_of(recipe: ImageRecipe) -> tuple[str, ...]:
    """What it asks beyond the victim's answers; one that is made of others asks for all that they need."""
    members = getattr(recipe, "members", lambda: [recipe])()
    return tuple(dict.fromkeys(need for member in members for need in member.needs))


def check_eps(eps: float | None) -> None:
    if eps is not None and eps <= 0:
        raise UsageError(f"eps must be above 0, got {number_text(eps)}: an attack of size 0 changes nothing.")


STRETCHES = (1.0, 1.001, 1.01, 1.03, 1.1, 1.2, 1.5, 2.0)
"""Lengths that are tried whatever the ball; longer ones follow as far as its edge."""
DRAWN_STRETCHES = (1.0, 1.1, 1.2, 1.5, 2.0)
"""Those for a randomised victim: every length that is tried is another chance to be lucky."""
LONGER = 1.4
REFINED = 2
"""Bisections between the last length that does not fool a randomised victim and the first one that does."""


def steadied(attempt: ImageAttempt, found: ImageArray, ball: Ball) -> Steps[ImageArray | None]:
    """The first image on the line from the original through ``found`` that surely fools the victim.

    A minimal success lies where the victim is undecided: another draw of its noise, or the rounding of
    another batch, may give another answer. The line ends at the edge of the ball or at twice the length.
    """
    towards = found - attempt.image
    length = ball.distance(attempt.image, found)
    if length == 0:
        return None

    def at(stretch: float) -> ImageArray:
        moved: ImageArray = (attempt.image + stretch * towards).clip(0, 1).astype(found.dtype)
        return moved

    before = 0.0
    first = DRAWN_STRETCHES if attempt.randomised else STRETCHES
    for stretch in _stretches(first, ball.radius / length):
        image = at(stretch)
        if stretch > first[-1]:
            image = ball.nearest(attempt.image, image)
        if (yield from attempt.surely_fooled(image)):
            break
        before = stretch
    else:
        return None
    for _ in range(REFINED if attempt.randomised and before else 0):
        middle = (before + stretch) / 2
        nearer = at(middle)
        if (yield from attempt.surely_fooled(nearer)):
            image, stretch = nearer, middle
        else:
            before = middle
    return image


def _stretches(first: Sequence[float], edge: float) -> Iterator[float]:
    yield from first
    longer = first[-1] * LONGER
    while longer < edge:
        yield longer
        longer *= LONGER
    if edge > first[-1]:
        yield edge
