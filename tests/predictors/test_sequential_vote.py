"""The vote that stops when it is decided: its error rate holds at any stopping time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom

from tiny_models import sentences
from unfooled.models import TextModel
from unfooled.predictors import Classifier, Sequential
from unfooled.predictors.sequential import fewest_votes, first_decided, is_decided, log_evidence

LOUD = Sequential(sigma=1.2, noise_layers=(0,), max_votes=30)


@pytest.mark.parametrize(
    ("wins", "losses"), [(0, 0), (1, 0), (0, 3), (5, 0), (7, 4), (4, 7), (40, 15), (10, 45)]
)
def test_evidence_is_the_mixture_likelihood_ratio(wins: int, losses: int) -> None:
    """E = 2 ∫ over θ in [1/2, 1] of (2θ)^wins (2(1−θ))^losses, integrated numerically."""
    expected, _ = quad(
        lambda p: 2 * (2 * p) ** wins * (2 * (1 - p)) ** losses, 0.5, 1, epsabs=0, epsrel=1e-10
    )
    assert math.exp(log_evidence(wins, losses)) == pytest.approx(expected, rel=1e-7)


def test_evidence_of_many_votes_is_finite() -> None:
    assert 0 < log_evidence(100_000, 1000) < math.inf
    assert log_evidence(1000, 3000) < -1


def false_decision_rate(p: float, votes: int, decides: object) -> float:
    """Exact probability that the rule ever decides for class 0, whose votes come with probability ``p``."""
    alive = {(0, 0): 1.0}
    wrong = 0.0
    for _ in range(votes):
        following: dict[tuple[int, int], float] = {}
        for (wins, losses), mass in alive.items():
            for state, share in (((wins + 1, losses), p), ((wins, losses + 1), 1 - p)):
                if not decides(*state):  # type: ignore[operator]
                    following[state] = following.get(state, 0.0) + mass * share
                elif state[0] > state[1]:
                    wrong += mass * share
        alive = following
    return wrong


@pytest.mark.parametrize("error_rate", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("p", [0.5, 0.49, 0.45])
def test_a_wrong_answer_is_no_likelier_than_stated(p: float, error_rate: float) -> None:
    rate = false_decision_rate(p, 150, lambda wins, losses: is_decided((wins, losses), error_rate))
    assert 0 < rate <= error_rate


def test_peeking_at_a_fixed_test_breaks_its_promise_where_the_sequential_vote_keeps_it() -> None:
    def naive(wins: int, losses: int) -> bool:
        return 2 * float(binom.cdf(min(wins, losses), wins + losses, 0.5)) <= 0.1

    assert false_decision_rate(0.49, 100, naive) > 0.1
    assert false_decision_rate(0.49, 100, lambda wins, losses: is_decided((wins, losses), 0.05)) <= 0.05


def test_the_error_rate_holds_among_several_classes() -> None:
    """Simulated votes of four classes, the true one barely ahead."""
    generator = np.random.default_rng(0)
    shares = [0.27, 0.26, 0.26, 0.21]
    wrong = 0
    for row in generator.choice(4, size=(800, 100), p=shares):
        counts = first_decided(np.eye(4)[row].tolist(), 4, 0.1)
        wrong += counts is not None and int(np.argmax(counts)) != 0
    assert wrong / 800 <= 0.1


def test_a_clear_leader_is_decided_soon() -> None:
    generator = np.random.default_rng(1)
    stops = []
    for row in (generator.random((200, 200)) > 0.85).astype(int):
        counts = first_decided(np.eye(2)[row].tolist(), 2, 0.05)
        assert counts is not None
        stops.append(sum(counts))
    assert np.mean(stops) < 20


def test_it_stops_at_the_first_vote_that_decides() -> None:
    rows = np.eye(2)[[0, 1, *[0] * 30]].tolist()
    counts = first_decided(rows, 2, 0.05)
    assert counts is not None
    assert is_decided(counts, 0.05)
    assert not is_decided((counts[0] - 1, counts[1]), 0.05)
    assert first_decided(rows[: sum(counts) - 1], 2, 0.05) is None


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_fewest_votes_is_the_shortest_unanimous_decision(classes: int) -> None:
    votes = fewest_votes(0.05, classes)
    assert is_decided((votes, *[0] * (classes - 1)), 0.05)
    assert not is_decided((votes - 1, *[0] * (classes - 1)), 0.05)


@pytest.mark.parametrize("max_votes", [1, 3, 10, 30])
def test_at_most_max_votes_are_cast(two_classes: TextModel, max_votes: int) -> None:
    predictor = Sequential(sigma=1.2, noise_layers=(0,), max_votes=max_votes)
    for decision in predictor.decide(two_classes, two_classes.encode(sentences(12))):
        cast = decision.forwards - 1
        assert sum(decision.votes[0]) <= cast <= max_votes
        assert is_decided(decision.votes[0], 0.05) or cast == sum(decision.votes[0]) == max_votes


@pytest.mark.parametrize("first_round", [1, 2, 7, 30])
def test_the_answer_does_not_depend_on_the_size_of_the_rounds(
    two_classes: TextModel, monkeypatch: pytest.MonkeyPatch, first_round: int
) -> None:
    encoded = two_classes.encode(sentences(20))
    expected = LOUD.decide(two_classes, encoded)
    monkeypatch.setattr("unfooled.predictors.sequential.fewest_votes", lambda *_: first_round)
    found = LOUD.decide(two_classes, encoded)
    assert [(d.label, d.votes) for d in found] == [(d.label, d.votes) for d in expected]
    assert len({sum(d.votes[0]) for d in expected}) > 3, "the stopping times must differ"


def test_an_undecided_vote_is_marked_and_abstains_unless_told_otherwise(two_classes: TextModel) -> None:
    encoded = two_classes.encode(sentences(20))
    named = Sequential(sigma=1.2, noise_layers=(0,), max_votes=30, abstain=False)
    bold, decisions = named.decide(two_classes, encoded), LOUD.decide(two_classes, encoded)
    assert [d.decided for d in bold] == [d.decided for d in decisions] == [not d.abstained for d in decisions]
    answers = Classifier(two_classes, named, labels=["down", "up"]).predict(sentences(20))
    assert [one.decided for one in answers] == [d.decided for d in bold]
    assert all(one.label == one.leader for one in answers)
    assert [d.abstained for d in decisions] == [not is_decided(d.votes[0], 0.05) for d in decisions]
    assert {d.abstained for d in decisions} == {True, False}
    assert not any(d.abstained for d in bold)
    assert [d.label for d in bold] == [d.label for d in decisions]
