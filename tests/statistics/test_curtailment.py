"""Votes still to come: when they cannot change the winner, and how probable a change is."""

from __future__ import annotations

import itertools
import random

import pytest
from scipy.stats import betabinom

from unfooled.statistics.curtailment import cannot_change, change_probability


def winner(votes: list[int]) -> int:
    return votes.index(max(votes))


def outcomes(classes: int, left: int) -> list[tuple[int, ...]]:
    """Every way in which ``left`` votes may fall."""
    return [rest for rest in itertools.product(range(left + 1), repeat=classes) if sum(rest) == left]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_vote_is_over_exactly_when_every_outcome_has_the_same_winner(classes: int) -> None:
    seen = set()
    for votes in itertools.product(range(6), repeat=classes):
        for left in range(5):
            winners = {
                winner([a + b for a, b in zip(votes, rest, strict=True)]) for rest in outcomes(classes, left)
            }
            assert cannot_change(votes, left) == (len(winners) == 1)
            assert (change_probability(votes, left) == 0) == (len(winners) == 1)
            seen.add(len(winners) == 1)
    assert seen == {True, False}


def test_the_probability_is_the_sum_over_the_outcomes_that_change_the_winner() -> None:
    for first, second, left in itertools.product(range(6), range(6), range(7)):
        votes = [first, second]
        leader = winner(votes)
        expected = sum(
            betabinom.pmf(own, left, 1 + votes[leader], 1 + votes[1 - leader])
            for own in range(left + 1)
            if winner(
                [first + own, second + left - own] if leader == 0 else [first + left - own, second + own]
            )
            != leader
        )
        assert change_probability((first, second), left) == pytest.approx(expected, abs=1e-12)


def test_a_single_vote_of_fifty_is_still_open_and_a_unanimous_run_is_not() -> None:
    assert 0.2 < change_probability((1, 0), 49) < 0.3
    assert change_probability((8, 0), 42) < 0.01
    assert change_probability((8, 0), 42) > change_probability((9, 0), 41)


@pytest.mark.parametrize(("votes", "left"), [((6, 2), 12), ((2, 6), 43), ((30, 10), 960), ((3, 3), 9_994)])
def test_the_sum_is_exact_for_long_votes_too(votes: tuple[int, int], left: int) -> None:
    behind, ahead = sorted(votes)
    gap = behind + left - ahead
    most = gap // 2 if votes[1] > votes[0] else (gap + 1) // 2 - 1
    expected = betabinom.cdf(most, left, 1 + ahead, 1 + behind)
    assert change_probability(votes, left) == pytest.approx(expected, rel=1e-6)


def test_other_classes_add_up() -> None:
    two = change_probability((6, 2), 12)
    assert change_probability((6, 2, 0), 12) > two
    assert change_probability((6, 2, 2), 12) == pytest.approx(2 * two, rel=0.2)
    assert change_probability((0, 0, 0), 9) == pytest.approx(1.0)


def test_with_evenly_spread_shares_the_winner_changes_as_often_as_stated() -> None:
    chooser, stated, changed = random.Random(0), 0.0, 0
    for _ in range(4000):
        share = chooser.random()
        votes = [0, 0]
        while (probability := change_probability((votes[0], votes[1]), 30 - sum(votes))) > 0.1:
            votes[chooser.random() < share] += 1
        stated += probability
        early = winner(votes)
        while sum(votes) < 30:
            votes[chooser.random() < share] += 1
        changed += winner(votes) != early
    assert stated / 4000 < 0.1
    assert changed / 4000 == pytest.approx(stated / 4000, abs=0.012)
