"""The scheduler: pooling, isolation of failures, bounds, and what counts as a success."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from keyword_victim import KeywordVictim, services

from unfooled.attacks import Answer, Asked, Example, Gradients, Limits, make_recipe, run_attacks
from unfooled.attacks.attempt import Attempt, NothingToChange, Steps
from unfooled.errors import UsageError
from unfooled.records.outcome import Outcome
from unfooled.words.document import Document

TEXTS = (
    "a gorgeous , witty film",
    "the great story is long",
    "a wonderful new film",
    "witty and funny , great and gorgeous",
    "it is a wonderful , wonderful , funny story",
)


@dataclass(frozen=True)
class Replace:
    """Replaces one word after another by ``thing``."""

    name: ClassVar[str] = "replace"
    paper: ClassVar[str] = "none"
    goal: ClassVar[Any] = "fickle"
    needs: ClassVar[tuple[str, ...]] = ()
    breaks_on: str = "no such word"
    returns_unasked: bool = False

    def search(self, attempt: Attempt) -> Steps[Document | None]:
        if self.breaks_on in attempt.original.words:
            raise RuntimeError("a bug in the recipe")
        if "the" in attempt.original.words and attempt.limits.protect == ("nothing",):
            raise NothingToChange("no luck")
        if self.returns_unasked:
            return attempt.original.replace(0, "thing")
        numbers = list(attempt.changeable)
        attempt.rng.shuffle(numbers)
        document = attempt.original
        for number in numbers[: attempt.max_changes]:
            document = document.replace(number, "thing")
            (trial,) = yield from attempt.ask([document])
            if trial.reached:
                return trial.document
        return None


def examples(*texts: str | tuple[str, str], label: int = 1) -> list[Example]:
    return [Example(row, (text,) if isinstance(text, str) else text, label) for row, text in enumerate(texts)]


def attack(
    given: Sequence[Example],
    victim: KeywordVictim | None = None,
    recipe: Any = None,
    more: dict[str, Callable[..., Any]] | None = None,
    in_flight: int = 64,
    **limits: Any,
) -> list[Outcome]:
    victim = victim or KeywordVictim()
    outcomes = run_attacks(
        given,
        recipe or Replace(),
        {"victim": victim.answers} | (more or {}),
        limits=Limits(**limits),
        randomised=victim.randomised,
        label_names=victim.labels,
        in_flight=in_flight,
    )
    return sorted(outcomes, key=lambda outcome: outcome.row)


def timeless(outcomes: list[Outcome]) -> list[Outcome]:
    return [replace(outcome, seconds=0.0) for outcome in outcomes]


def test_requests_of_many_attacks_are_one_call() -> None:
    victim = KeywordVictim()
    outcomes = attack(examples(*TEXTS), victim)
    assert victim.calls[0] == len(TEXTS)
    assert len(victim.calls) == max(outcome.queries for outcome in outcomes)
    assert sum(victim.calls) == sum(outcome.forwards for outcome in outcomes)


@pytest.mark.parametrize("randomised", [False, True])
def test_number_in_flight_changes_nothing(randomised: bool) -> None:
    def outcomes(in_flight: int) -> list[Outcome]:
        victim = KeywordVictim(randomised=randomised, wrong=0.2 if randomised else 0.0)
        return timeless(attack(examples(*TEXTS), victim, in_flight=in_flight))

    assert outcomes(1) == outcomes(3) == outcomes(64)
    assert {outcome.status for outcome in outcomes(3)} >= {"success"}


def test_examples_are_taken_as_flights_end() -> None:
    taken: list[int] = []

    def source() -> Any:
        for example in examples(*TEXTS):
            taken.append(example.row)
            yield example

    outcomes = run_attacks(
        source(), Replace(), {"victim": KeywordVictim().answers}, limits=Limits(), in_flight=2
    )
    next(outcomes)
    assert len(taken) <= 3


def test_a_failing_example_is_recorded_and_leaves_the_others() -> None:
    plain = attack(examples(*TEXTS))
    broken = attack(examples(*TEXTS), recipe=Replace(breaks_on="story"))
    assert [outcome.status for outcome in broken] == ["success", "error", "success", "success", "error"]
    assert broken[1].message == "RuntimeError: a bug in the recipe"
    assert timeless(broken)[0] == timeless(plain)[0]


def test_an_item_that_breaks_a_service_breaks_its_own_attack_only() -> None:
    victim = KeywordVictim()
    real = victim.answers

    def fragile(asked: Sequence[Asked]) -> list[Answer]:
        if any("story" in one.query[0] for one in asked):
            raise RuntimeError("cannot read this")
        return real(asked)

    victim.answers = fragile  # type: ignore[method-assign]
    outcomes = attack(examples(*TEXTS), victim)
    assert [outcome.status for outcome in outcomes] == ["success", "error", "success", "success", "error"]
    assert outcomes[1].message == "RuntimeError: cannot read this"
    assert outcomes[1].first_label is None


def test_a_service_that_answers_too_little_is_an_error() -> None:
    victim = KeywordVictim()
    victim.answers = lambda asked: []  # type: ignore[method-assign,assignment]
    assert attack(examples(TEXTS[0]), victim)[0].message == "ValueError: 0 answers to 1 queries"


def test_an_error_of_the_user_stops_the_run() -> None:
    def refuses(asked: Sequence[Asked]) -> list[Answer]:
        raise UsageError("wrong password")

    victim = KeywordVictim()
    victim.answers = refuses  # type: ignore[method-assign]
    with pytest.raises(UsageError, match="wrong password"):
        attack(examples(TEXTS[0]), victim)


def test_a_missing_service_is_named_before_the_first_query() -> None:
    victim = KeywordVictim()
    with pytest.raises(UsageError, match=r"'a2t' needs gradients, tags, similarity"):
        attack(examples(TEXTS[0]), victim, make_recipe("a2t"))
    assert victim.calls == []


def test_a_document_that_was_never_asked_about_is_no_success() -> None:
    (outcome,) = attack(examples(TEXTS[0]), recipe=Replace(returns_unasked=True))
    assert outcome.status == "error"


def test_the_budget_ends_the_attack() -> None:
    text = "witty " * 20
    (free,) = attack(examples(text))
    assert free.status == "success" and not free.budget_spent
    (bound,) = attack(examples(text), query_budget=5)
    assert (bound.status, bound.queries, bound.budget_spent) == ("failed", 5, True)
    assert (free.limit_hit, bound.limit_hit) == ("", "queries")


def test_a_request_cut_by_the_budget_is_marked() -> None:
    class AskOnce(Replace):
        def search(self, attempt: Attempt) -> Steps[Document | None]:
            trials = yield from attempt.ask([attempt.original.delete(n) for n in attempt.changeable])
            assert len(trials) == 2
            return None

    (outcome,) = attack(examples(TEXTS[0]), recipe=AskOnce(), query_budget=3)
    assert (outcome.queries, outcome.budget_spent, outcome.limit_hit) == (3, True, "queries")


def test_the_time_cap_ends_the_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("unfooled.attacks.scheduler.time.perf_counter", lambda: float(next(clock)))
    (outcome,) = attack(examples("witty " * 20), time_cap=7.5)
    # Every step of the attack and every answer takes a second.
    assert (outcome.status, outcome.queries, outcome.limit_hit) == ("failed", 4, "time")
    assert outcome.budget_spent and outcome.seconds == 9


REQUESTS: dict[str, tuple[Callable[[Attempt], Any], Any]] = {
    "nothing": (lambda attempt: attempt.ask([]), None),
    "gradients": (
        lambda attempt: attempt.gradients(attempt.original, 1),
        lambda asked, draws: [Gradients(np.zeros((1, 1)), ((0, 0, 1),))],
    ),
    "expected": (lambda attempt: attempt.expected([], draws=1), None),
    "embedding": (lambda attempt: attempt.embeddings(["a"]), lambda words: [0.0]),
    "tags": (lambda attempt: attempt.tags(["a"]), lambda texts: [()]),
    "no tags": (lambda attempt: attempt.tags([]), None),
    "similarity": (lambda attempt: attempt.similarities([("a", "b")]), lambda pairs: [1.0]),
    "fill": (lambda attempt: attempt.fillings([("a", 0, 1)], count=1), lambda spans, count: [["b"]]),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_time_cap_ends_every_kind_of_request(name: str) -> None:
    """A search that never comes to ask the victim ends too, and what it computes itself counts."""
    request, service = REQUESTS[name]
    steps = 0

    class Busy(Replace):
        def search(self, attempt: Attempt) -> Steps[Document | None]:
            nonlocal steps
            yield from attempt.ask([attempt.original.delete(0)])
            while steps < 50:
                steps += 1
                attempt.seconds += 1
                yield from request(attempt)
            return None

    more = {} if service is None else {name: service}
    (outcome,) = attack(examples(TEXTS[0]), recipe=Busy(), more=more, time_cap=5.5)
    assert (outcome.status, outcome.limit_hit) == ("failed", "time")
    assert steps <= 6


def test_what_the_recipe_computes_is_in_the_seconds_and_under_the_cap() -> None:
    class Slow(Replace):
        def search(self, attempt: Attempt) -> Steps[Document | None]:
            for number in range(100):
                time.sleep(0.01)
                yield from attempt.ask([attempt.original.replace(0, f"word{number}")])
            return None

    (outcome,) = attack(examples("witty witty"), recipe=Slow(), time_cap=0.05)
    assert (outcome.status, outcome.limit_hit) == ("failed", "time")
    assert 0.05 < outcome.seconds < 1 and outcome.queries < 10


def test_a_success_at_the_end_of_the_time_is_still_checked() -> None:
    class Late(Replace):
        def search(self, attempt: Attempt) -> Steps[Document | None]:
            (trial,) = yield from attempt.ask([attempt.original.replace(0, "thing")])
            attempt.seconds += 100
            return trial.document

    victim = KeywordVictim(randomised=True)
    every = services(victim)
    more = {name: every[name] for name in ("tags", "similarity")}
    (outcome,) = attack(examples("witty film"), victim, Late(), more, time_cap=50, fresh_predictions=3)
    assert (outcome.status, outcome.limit_hit, outcome.fresh_total) == ("success", "", 3)
    assert outcome.similarity is not None


@pytest.mark.parametrize("label", [2, 99, -1, None])
def test_a_label_that_the_victim_does_not_have_is_refused(label: Any) -> None:
    wrong, right = attack([Example(0, ("witty film",), label), Example(1, ("witty film",), 1)])
    assert (wrong.status, right.status) == ("refused", "success")
    assert f"label {label} " in wrong.message and "2 classes" in wrong.message
    assert wrong.truth == label


def test_protected_words_and_patterns_do_not_change() -> None:
    text = "Witty FILM , witty story , 3 witty stars"
    (outcome,) = attack(examples(text), protect=("film", "STORY"), protect_pattern=r"\d \w+ stars")
    assert outcome.status == "failed"
    assert outcome.queries == 3  # the original and the two free words
    (outcome,) = attack(examples("Witty FILM"), protect=("witty", "film"))
    assert (outcome.status, outcome.queries) == ("not-attackable", 1)


def test_a_broken_pattern_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="protect_pattern"):
        Limits(protect_pattern="(")


@pytest.mark.parametrize(("share", "changed"), [(0.0, 0), (0.01, 1), (0.29, 29), (1.0, 100)])
def test_share_of_changed_words(share: float, changed: int) -> None:
    (outcome,) = attack(examples("witty " * 100), max_changed=share)
    assert outcome.queries == 1 + min(changed, 100)
    assert outcome.status == ("not-attackable" if changed == 0 else "failed" if changed < 100 else "success")


@pytest.mark.parametrize(("sentence", "which"), [("first", {0}), ("second", {1}), ("either", {0, 1})])
def test_only_the_chosen_sentence_of_a_pair_changes(sentence: str, which: set[int]) -> None:
    pair = ("a funny film", "a funny , funny story")
    (outcome,) = attack(examples(pair), KeywordVictim(bias=1.1), sentence=sentence)
    assert outcome.status == "success"
    assert {change.which for change in outcome.changes} <= which
    (single,) = attack(examples("witty"), sentence=sentence)
    assert single.status == "success"


@pytest.mark.parametrize("text", ["!!! 😀 …", "?"])
def test_a_text_without_words_is_not_attackable(text: str) -> None:
    (outcome,) = attack(examples(text, label=0))
    assert (outcome.status, outcome.queries, outcome.words) == ("not-attackable", 1, 0)


def test_what_the_victim_gets_wrong_is_skipped() -> None:
    (outcome,) = attack(examples("a gorgeous film", label=0))
    assert (outcome.status, outcome.queries, outcome.attacked) == ("skipped", 1, False)


def test_abstention_is_no_success() -> None:
    (sure,) = attack(examples("witty film"), KeywordVictim(abstains_below=0.6))
    assert sure.status == "failed"
    (doubtful,) = attack(examples("funny"), KeywordVictim(abstains_below=0.6))
    assert doubtful.status == "skipped"


def test_answers_to_the_same_text_are_asked_once_but_counted() -> None:
    class AskTwice(Replace):
        def search(self, attempt: Attempt) -> Steps[Document | None]:
            document = attempt.original.replace(0, "thing")
            for _ in range(2):
                yield from attempt.ask([document, document])
            return None

    fixed = KeywordVictim()
    (outcome,) = attack(examples("witty and great"), fixed, AskTwice())
    assert (outcome.queries, outcome.forwards, len(fixed.seen)) == (5, 2, 2)
    noisy = KeywordVictim(randomised=True)
    (outcome,) = attack(examples("witty and great"), noisy, AskTwice())
    assert (outcome.queries, outcome.forwards) == (5, 5)
    assert len({one.key for one in noisy.seen}) == 5
    cached = KeywordVictim(randomised=True)
    (outcome,) = attack(examples("witty and great"), cached, AskTwice(), cache_answers=True)
    assert (outcome.queries, outcome.forwards) == (5, 2)


def test_lucky_draws_do_not_pass_the_fresh_predictions() -> None:
    """The victim is wrong three times in ten, whatever the text says: no attack on it is real."""

    class NoOp(Replace):
        def search(self, attempt: Attempt) -> Steps[Document | None]:
            documents = [attempt.original.replace(0, f"word{n}") for n in range(20)]
            trials = yield from attempt.ask(documents)
            return next((trial.document for trial in trials if trial.reached), None)

    victim = KeywordVictim(randomised=True, wrong=0.3)
    outcomes = attack(examples(*[f"film {n} gorgeous witty" for n in range(60)]), victim, NoOp())
    attacked = [outcome for outcome in outcomes if outcome.attacked]
    assert len(attacked) > 30
    assert sum(outcome.status == "success" for outcome in attacked) / len(attacked) > 0.95
    assert all(outcome.fresh_total == 20 for outcome in attacked if outcome.status == "success")
    assert sum(outcome.verified for outcome in attacked) / len(attacked) < 0.15


def test_a_real_success_passes_the_fresh_predictions() -> None:
    (outcome,) = attack(examples("witty film"), KeywordVictim(randomised=True), fresh_predictions=7)
    assert (outcome.fresh_successes, outcome.fresh_total, outcome.verified) == (7, 7, True)
    (fixed,) = attack(examples("witty film"))
    assert (fixed.fresh_successes, fixed.fresh_total, fixed.verified) == (None, 0, True)


def test_validity_is_measured_where_the_services_are_there() -> None:
    victim = KeywordVictim()
    every = services(victim)
    more = {name: every[name] for name in ("tags", "similarity")}
    (outcome,) = attack(examples("witty film"), victim, more=more)
    assert outcome.similarity is not None and 0.9 <= outcome.similarity < 1
    assert outcome.pos_valid is ("witty" not in {change.before for change in outcome.changes})
    (without,) = attack(examples("witty film"))
    assert (without.similarity, without.pos_valid) == (None, None)


def test_outcomes_survive_the_journal() -> None:
    for outcome in attack(examples(*TEXTS), KeywordVictim(randomised=True, wrong=0.1)):
        assert Outcome.from_dict(outcome.to_dict()) == outcome


@dataclass
class RoughVictim(KeywordVictim):
    """Says «wrong» to every changed text in the search; ``confirmed`` answers as a :class:`KeywordVictim`."""

    confirmations: list[Asked] = field(default_factory=list)

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        return [
            answer if item.query[0] in TEXTS else replace(answer, scores=(0.9, 0.1), label=0)
            for item, answer in zip(asked, super().answers(asked), strict=True)
        ]

    def confirmed(self, asked: Sequence[Asked]) -> list[Answer]:
        self.confirmations += asked
        return super().answers(asked)


@pytest.mark.parametrize("randomised", [False, True])
def test_a_rough_success_counts_only_if_the_exact_answer_is_one(randomised: bool) -> None:
    exact = timeless(attack(examples(*TEXTS), KeywordVictim(randomised=randomised)))
    victim = RoughVictim(randomised=randomised)
    rough = attack(examples(*TEXTS), victim, more={"confirmed": victim.confirmed})
    told = [(one.status, one.perturbed, one.label, one.scores) for one in exact]
    assert [(one.status, one.perturbed, one.label, one.scores) for one in rough] == told
    assert {one.status for one in rough} >= {"success"}
    several = [one for one in rough if one.queries > 1]
    assert several and all(one.forwards > one.queries for one in several)
    # Without it every first try would have been a success.
    assert {one.queries for one in attack(examples(*TEXTS), victim) if one.status == "success"} == {2}


def test_the_first_answer_of_a_rough_victim_is_the_exact_one() -> None:
    class Wrong(KeywordVictim):
        def answers(self, asked: Sequence[Asked]) -> list[Answer]:
            return [replace(answer, label=0) for answer in super().answers(asked)]

    right = KeywordVictim()
    assert {one.status for one in attack(examples(*TEXTS), Wrong())} == {"skipped"}
    found = attack(examples(*TEXTS), Wrong(), more={"confirmed": right.answers})
    assert "skipped" not in {one.status for one in found}


def test_exact_answers_are_to_the_same_noise() -> None:
    victim = RoughVictim(randomised=True, wrong=0.3)
    asked: list[Asked] = []

    def answers(items: Sequence[Asked]) -> list[Answer]:
        asked.extend(items)
        return victim.answers(items)

    found = run_attacks(
        examples(*TEXTS),
        Replace(),
        {"victim": answers, "confirmed": victim.confirmed},
        limits=Limits(fresh_predictions=1),
        randomised=True,
    )
    assert list(found)
    fresh_and_first = [item for item in victim.confirmations if item not in asked]
    assert len(victim.confirmations) > len(fresh_and_first)
    assert len({item.key for item in asked}) == len(asked)
