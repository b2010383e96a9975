"""The scheduler: many attacks in flight, their requests pooled.

Every attack is a generator that yields requests. In each round the requests of all attacks in flight are put
together, each service (the victim, the tagger, the similarity encoder, …) is called once with all of them,
and the answers are handed back. An attack's randomness depends on the seed and its example alone, so the
number in flight changes nothing but speed. One failing example is recorded and does not touch the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unfooled.attacks.attempt import Attempt, Example, NothingToChange, Request, Steps
from unfooled.attacks.budget import Budget, BudgetSpent
from unfooled.attacks.goals import make_goal
from unfooled.attacks.limits import Limits
from unfooled.attacks.parts.validity import validity
from unfooled.attacks.recipe import Recipe
from unfooled.errors import UsageError, UserError
from unfooled.records.metric import ACCURACY
from unfooled.records.outcome import Outcome, Status
from unfooled.words.document import Document

Service = Callable[..., Sequence[object]]
"""Called with a list of items (and options); gives one result an item."""


@dataclass(eq=False)
class _Flight:
    """One attack on its way: its generator and the request it waits for."""

    attempt: Budget
    steps: Steps[Outcome]
    request: Request


def run_attacks(
    examples: Iterable[Example],
    recipe: Recipe,
    services: Mapping[str, Service],
    *,
    limits: Limits,
    seed: int = 0,
    randomised: bool = False,
    label_names: tuple[str, ...] = (),
    in_flight: int = 128,
    begin: Callable[..., Attempt] = Attempt,
) -> Iterator[Outcome]:
    """Attack every example; outcomes come as they finish, each a function of its example and the seed."""
    if missing := [name for name in ("victim", *recipe.needs) if name not in services]:
        raise UsageError(
            f"The recipe '{recipe.name}' needs {', '.join(missing)}, which this victim does not offer. "
            "Attack a classifier of unfooled, or choose a recipe that asks for less."
        )

    def begun() -> Iterator[tuple[Attempt, Steps[Outcome]]]:
        for example in examples:
            attempt = begin(example, limits, seed, randomised, label_names, "confirmed" in services)
            yield attempt, _attack(attempt, recipe, services)

    return run_flights(begun(), services, in_flight=in_flight)


def run_flights(
    begun: Iterable[tuple[Budget, Steps[Outcome]]], services: Mapping[str, Service], *, in_flight: int
) -> Iterator[Outcome]:
    """Fly attacks, so many at a time, each begun when there is room; ``steps`` are all it does."""
    waiting = iter(begun)
    flights: list[_Flight] = []
    while True:
        while len(flights) < in_flight and (pair := next(waiting, None)) is not None:
            flight = _Flight(*pair, Request("", ()))
            if (outcome := _advance(flight, None)) is None:
                flights.append(flight)
            else:
                yield outcome
        if not flights:
            return
        finished: list[_Flight] = []
        for flight, answer in _serve(flights, services):
            if (outcome := _advance(flight, answer)) is not None:
                finished.append(flight)
                yield outcome
        flights = [flight for flight in flights if flight not in finished]


def _advance(flight: _Flight, answer: list[object] | Exception | None) -> Outcome | None:
    """Hand an answer to the attack; its outcome if that ended it. What it computes is its own time."""
    started = time.perf_counter()
    outcome: Outcome | None = None
    try:
        if isinstance(answer, Exception):
            flight.request = flight.steps.throw(answer)
        else:
            flight.request = flight.steps.send(answer)  # type: ignore[arg-type]
    except StopIteration as stop:
        outcome = stop.value
    flight.attempt.seconds += time.perf_counter() - started
    return outcome and replace(outcome, seconds=round(flight.attempt.seconds, 3))


def _serve(
    flights: Sequence[_Flight], services: Mapping[str, Service]
) -> list[tuple[_Flight, list[object] | Exception]]:
    """Answer the requests of all flights, one call a service and set of options."""
    groups: dict[tuple[str, tuple[tuple[str, object], ...]], list[_Flight]] = {}
    for flight in flights:
        groups.setdefault((flight.request.service, flight.request.options), []).append(flight)
    answers: dict[int, list[object] | Exception] = {}
    for (name, options), members in groups.items():
        started = time.perf_counter()
        for flight, answer in zip(members, _answer(services[name], options, members), strict=True):
            answers[id(flight)] = answer
        spent = time.perf_counter() - started
        total = sum(len(flight.request.items) for flight in members)
        for flight in members:
            flight.attempt.seconds += spent * len(flight.request.items) / max(1, total)
    return [(flight, answers[id(flight)]) for flight in flights]


def _answer(
    service: Service, options: tuple[tuple[str, object], ...], members: Sequence[_Flight]
) -> list[list[object] | Exception]:
    items = [item for flight in members for item in flight.request.items]
    try:
        pooled = list(service(items, **dict(options)))
        if len(pooled) != len(items):
            raise ValueError(f"{len(pooled)} answers to {len(items)} queries")
    except UserError:
        raise
    except Exception as error:
        if len(members) == 1:
            return [error]
        # One bad item spoilt the pool: ask for each attack alone, so that only its own attack breaks.
        return [_answer(service, options, [flight])[0] for flight in members]
    answers: list[list[object] | Exception] = []
    for flight in members:
        count = len(flight.request.items)
        answers.append(pooled[:count])
        del pooled[:count]
    return answers


def _attack(attempt: Attempt, recipe: Recipe, services: Mapping[str, Service]) -> Steps[Outcome]:
    """The whole story of one example: first answer, search, verification."""
    try:
        first = yield from attempt.ask_original()
        if wrong := wrong_label(attempt.example.label, classes=len(first.scores)):
            return _outcome(attempt, "refused", message=wrong)
        if first.abstained or not ACCURACY.right(first.label, attempt.example.label):
            return _outcome(attempt, "skipped")
        attempt.goal = make_goal(recipe.goal, truth=attempt.example.label, original=first.label)
        try:
            attempt.check_changeable()
            found = yield from recipe.search(attempt)
        except NothingToChange as nothing:
            return _outcome(attempt, "not-attackable", message=str(nothing))
        except BudgetSpent:
            found = None
        if found is None:
            return _outcome(attempt, "failed")
        attempt.search_over = True
        return (yield from _verified(attempt, found, services))
    except Exception as error:
        if isinstance(error, UserError):
            raise
        return _outcome(attempt, "error", message=f"{type(error).__name__}: {error}")


def wrong_label(label: int | None, *, classes: int) -> str:
    """Why the victim could never give this label; empty if it could."""
    if label is not None and 0 <= label < classes:
        return ""
    return (
        f"The label {label} is none of the victim's {classes} classes, 0 to {classes - 1}. "
        "Correct the row, or name the classes in the order of the victim's scores."
    )


def _verified(attempt: Attempt, found: Document, services: Mapping[str, Service]) -> Steps[Outcome]:
    """The outcome of a success: its last answer, fresh-noise check, similarity and part of speech."""
    answer = attempt.last = attempt.reaching[found.texts]
    if attempt.randomised:
        attempt.again = yield from attempt.fresh(found, attempt.limits.fresh_predictions)
    checks = yield from validity(attempt, found, services)
    return _outcome(
        attempt,
        "success",
        perturbed=found.texts,
        label=answer.label,
        scores=answer.scores,
        changes=found.changes_from(attempt.original),
        fresh_successes=sum(map(attempt.goal.reached, attempt.again)) if attempt.randomised else None,
        fresh_total=len(attempt.again),
        similarity=checks.similarity,
        pos_valid=checks.pos_valid,
    )


def _outcome(attempt: Attempt, status: Status, **more: Any) -> Outcome:
    first = getattr(attempt, "first", None)
    return Outcome(
        row=attempt.example.row,
        status=status,
        original=attempt.example.texts,
        truth=attempt.example.label,
        first_label=None if first is None or first.abstained else first.label,
        first_scores=() if first is None else first.scores,
        words=attempt.size,
        queries=attempt.queries,
        forwards=attempt.forwards,
        budget_spent=bool(attempt.limit_hit),
        limit_hit=attempt.limit_hit,
        tried=attempt.tried,
        question=attempt.question_change(),
        **more,
    )
