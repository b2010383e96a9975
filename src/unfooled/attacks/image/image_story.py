"""The whole story of one image under attack: first answer, search, the check of the ball, verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unfooled.attacks.attempt import Steps
from unfooled.attacks.budget import BudgetSpent
from unfooled.attacks.goals import make_goal
from unfooled.attacks.image.ball import Ball
from unfooled.attacks.image.image_attempt import ImageAttempt, ImageExample
from unfooled.attacks.image.image_recipe import ImageRecipe
from unfooled.attacks.limits import Limits
from unfooled.attacks.scheduler import Service, run_flights, wrong_label
from unfooled.attacks.victim import ImageArray
from unfooled.errors import UserError
from unfooled.records.image_change import ImageChange, packed
from unfooled.records.metric import ACCURACY
from unfooled.records.outcome import Outcome, Status


def run_image_attacks(
    examples: Iterable[ImageExample],
    recipe: ImageRecipe,
    services: Mapping[str, Service],
    *,
    limits: Limits,
    seed: int = 0,
    randomised: bool = False,
    in_flight: int = 128,
) -> Iterator[Outcome]:
    """Attack every image; outcomes come as they finish, each a function of its example and the seed."""

    def begun() -> Iterator[tuple[ImageAttempt, Steps[Outcome]]]:
        for example in examples:
            attempt = ImageAttempt(example, limits, seed, randomised)
            yield attempt, _attack(attempt, recipe)

    return run_flights(begun(), services, in_flight=in_flight)


def _attack(attempt: ImageAttempt, recipe: ImageRecipe) -> Steps[Outcome]:
    ball, example = attempt.ball(recipe.distance), attempt.example
    try:
        first = yield from attempt.ask_original()
        if wrong := wrong_label(example.label, classes=len(first.scores)):
            return _outcome(attempt, "refused", ball, message=wrong)
        if first.abstained or not ACCURACY.right(first.label, example.label):
            return _outcome(attempt, "skipped", ball)
        # Boundary attacks look far outside too; what fools there now and then is no result.
        attempt.within, attempt.nearest = ball, recipe.minimal
        attempt.goal = make_goal(recipe.goal, truth=example.label, original=first.label)
        try:
            found = yield from recipe.search(attempt)
        except BudgetSpent:
            found = None
        found = attempt.best if found is None else found
        if found is None:
            return _outcome(attempt, "failed", ball)
        if recipe.minimal and ball.distance(attempt.image, found) > ball.radius:
            return _outcome(attempt, "failed", ball, found)
        if not ball.holds(attempt.image, found):
            far = ball.distance(attempt.image, found)
            raise RuntimeError(f"the attack left its ball: {ball.norm} distance {far:g} > {ball.radius:g}")
        attempt.search_over = True
        return (yield from _verified(attempt, ball, found))
    except Exception as error:
        if isinstance(error, UserError):
            raise
        return _outcome(attempt, "error", ball, message=f"{type(error).__name__}: {error}")


def _verified(attempt: ImageAttempt, ball: Ball, found: ImageArray) -> Steps[Outcome]:
    """The outcome of a success: the victim's answer to it, and answers on fresh noise."""
    count = attempt.limits.fresh_predictions if attempt.randomised else 1
    fresh = yield from attempt.fresh(found, count)
    reached = [one for one in fresh if attempt.goal.reached(one)]
    if not attempt.randomised and not reached:  # so near the boundary that rounding decides
        return _outcome(attempt, "failed", ball)
    answer = (reached or fresh)[0]
    return _outcome(
        attempt,
        "success",
        ball,
        found,
        label=answer.label,
        scores=answer.scores,
        fresh_successes=len(reached) if attempt.randomised else None,
        fresh_total=count if attempt.randomised else 0,
    )


def _outcome(
    attempt: ImageAttempt,
    status: Status,
    ball: Ball,
    found: ImageArray | None = None,
    **more: Any,
) -> Outcome:
    first = getattr(attempt, "first", None)
    shown = found if status == "success" else None
    change = ImageChange(
        norm=ball.norm,
        size=ball.radius,
        distance=None if found is None else ball.distance(attempt.image, found),
        found_by=attempt.found_by,
        gradients=attempt.gradients,
        original="" if shown is None else packed(attempt.image),
        adversarial="" if shown is None else packed(shown),
    )
    return Outcome(
        row=attempt.example.row,
        status=status,
        original=(attempt.example.shown,),
        truth=attempt.example.label,
        first_label=None if first is None or first.abstained else first.label,
        first_scores=() if first is None else first.scores,
        queries=attempt.queries,
        forwards=attempt.forwards,
        budget_spent=bool(attempt.limit_hit),
        limit_hit=attempt.limit_hit,
        tried=attempt.tried,
        image=change,
        **more,
    )
