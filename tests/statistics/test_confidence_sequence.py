"""Bounds and answers that may be looked at after every sample: exact error probabilities and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln, ndtr

from unfooled.statistics.bounds import gaussian_l2_probability
from unfooled.statistics.confidence import (
    ConfidenceSequence,
    SequentialDecision,
    Verdict,
    clopper_pearson_lower,
    clopper_pearson_upper,
    sequence_lower,
    sequence_upper,
)


def lattice(horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """(horizon + 1, horizon + 1) running totals [n, successes]; impossible ones are cut to n."""
    n = np.arange(horizon + 1)[:, None]
    return np.minimum(np.arange(horizon + 1)[None, :], n), np.broadcast_to(n, (horizon + 1, horizon + 1))


def ever(event: np.ndarray, p: float) -> float:
    """The exact probability that a path of Bernoulli(p) samples ever meets ``event[n, successes]``."""
    horizon = len(event) - 1
    mass, met = np.zeros(horizon + 1), 0.0
    mass[0] = 1.0
    for n in range(1, horizon + 1):
        mass = mass * (1 - p) + np.concatenate([[0.0], mass[:-1]]) * p
        met += mass[event[n]].sum()
        mass[event[n]] = 0.0
    return met


@pytest.mark.parametrize("p", [0.3, 0.69, 0.95, 0.999])
def test_sequence_ever_misses_with_at_most_alpha(p: float) -> None:
    successes, n = lattice(180)
    for alpha in (0.2, 0.01):
        assert ever(sequence_lower(successes, n, alpha) > p, p) <= alpha
        assert ever(sequence_upper(successes, n, alpha) < p, p) <= alpha


def test_peeking_at_clopper_pearson_misses_far_more() -> None:
    successes, n = lattice(250)
    assert ever(clopper_pearson_lower(successes, n, 0.01) > 0.69, 0.69) > 0.03


@settings(max_examples=60)
@given(n=st.integers(1, 5000), data=st.data(), alpha=st.sampled_from([0.1, 0.001, 1e-6]))
def test_sequence_inverts_the_mixture(n, data, alpha) -> None:
    k = data.draw(st.integers(1, n))
    bound = sequence_lower(k, n, alpha)
    assert type(bound) is float and 0 < bound < clopper_pearson_lower(k, n, alpha) * (1 + 1e-9)
    evidence = (
        betaln(k + 1, n - k + 0.5) - betaln(1, 0.5) - k * math.log(bound) - (n - k) * math.log1p(-bound)
    )
    assert evidence == pytest.approx(-math.log(alpha), abs=1e-6)
    assert sequence_upper(n - k, n, alpha) == pytest.approx(1 - bound, rel=1e-9)
    assert sequence_upper(n - k, n, alpha) > clopper_pearson_upper(n - k, n, alpha) * (1 - 1e-9)


def test_sequence_ends_and_monotony() -> None:
    assert (sequence_lower(0, 100, 0.01), sequence_upper(100, 100, 0.01)) == (0.0, 1.0)
    assert (sequence_lower(0, 0, 0.01), sequence_upper(0, 0, 0.01)) == (0.0, 1.0)
    k = np.arange(1001)
    assert (np.diff(sequence_lower(k, 1000, 0.01)) > 0).all()
    many = 10 ** np.arange(1, 10)
    assert (np.diff(sequence_lower(many, many, 0.001)) > 0).all()
    assert sequence_lower(10**9, 10**9, 0.001) < 1


def test_running_sequence_keeps_its_best_bounds() -> None:
    running = ConfidenceSequence(alpha=0.01)
    assert (running.lower, running.upper) == (0.0, 1.0)
    before = running.update(99, 100).lower
    assert before == sequence_lower(99, 100, 0.01)
    running.update(0, 50)
    assert running.n == 150 and running.successes == 99
    assert running.lower == before and running.upper == sequence_upper(99, 150, 0.01)


@pytest.mark.parametrize("threshold", [0.5, 0.69, 0.9])
@pytest.mark.parametrize("alpha", [0.2, 0.001])
def test_decision_errors_are_controlled_exactly(threshold: float, alpha: float) -> None:
    """The worst case p = t, every sample looked at, and nobody ever stops for the other answer."""
    successes, n = lattice(250)
    answers = SequentialDecision(threshold, alpha, futility=0.1, max_samples=250).answers(successes, n)
    false_yes = ever(answers == Verdict.YES, threshold)
    assert alpha / 10 < false_yes <= alpha
    assert ever(answers == Verdict.YES, threshold - 0.05) < false_yes
    assert ever(answers == Verdict.NO, threshold) <= 0.1


@pytest.mark.full
def test_simulated_peeking_keeps_alpha_where_clopper_pearson_does_not() -> None:
    runs, horizon, p, alpha = 10_000, 1_000, 0.9, 0.05
    rng = np.random.default_rng(7)
    n = np.arange(1, horizon + 1)
    totals = np.cumsum(rng.random((runs, horizon)) < p, axis=1, dtype=np.int16)
    limit = alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
    # Neither rule claims p below the observed share, and both are monotone in the successes: the fewest
    # successes that are a claim at each n decide.
    successes, trials = np.broadcast_arrays(np.arange(horizon + 1)[:, None], n[None, :])
    leading = (successes >= p * trials) & (successes <= trials)
    k, m = successes[leading], trials[leading]

    def rate(claimed: np.ndarray) -> float:
        table = np.zeros(leading.shape, dtype=bool)
        table[leading] = claimed
        fewest = np.where(table.any(axis=0), table.argmax(axis=0), horizon + 1)
        return (totals >= fewest).any(axis=1).mean()

    decision = SequentialDecision(p, alpha, max_samples=horizon)
    assert 0 < rate(decision.answers(k, m) == Verdict.YES) <= limit
    assert rate(sequence_lower(k, m, alpha) >= p) <= limit
    assert rate(clopper_pearson_lower(k, m, alpha) >= p) > 3 * alpha


@pytest.mark.parametrize("radius", [0.5, 1.0])
@pytest.mark.parametrize("p", [0.999, 0.99, 0.95])
def test_clear_questions_need_a_small_part_of_the_fixed_sample(p: float, radius: float) -> None:
    threshold = gaussian_l2_probability(radius, 1.0)
    rng = np.random.default_rng(3)
    used = []
    for _ in range(40):
        decision = SequentialDecision(threshold, alpha=0.001)
        while decision.open:
            batch = min(10, decision.remaining)
            decision.update(int(rng.binomial(batch, p)), batch)
        assert decision.answer is Verdict.YES
        used.append(decision.n)
    assert np.mean(used) < 0.03 * 10_000


def test_hopeless_questions_stop_early_too() -> None:
    decision = SequentialDecision(0.9, alpha=0.001)
    while decision.open:
        decision.update(7, 10)
    assert decision.answer is Verdict.NO and decision.n <= 100


def test_last_sample_is_tested_as_a_fixed_one() -> None:
    """Just what a fixed sample certifies at a quarter of α, and only when the budget is spent."""
    decision = SequentialDecision(0.9, alpha=0.01, max_samples=2_000)
    fixed = clopper_pearson_lower(np.arange(2_001), 2_000, 0.0025)
    enough = int(np.argmax(fixed >= 0.9))
    assert decision.answers(enough, 2_000) == Verdict.YES
    assert decision.answers(enough - 1, 2_000) == Verdict.UNDECIDED
    assert decision.answers(enough - 1, 1_999) == Verdict.UNDECIDED


def test_answer_once_given_stands() -> None:
    decision = SequentialDecision(0.5, alpha=0.05, max_samples=1_000)
    assert decision.update(0, 0) is Verdict.UNDECIDED
    assert decision.update(50, 50) is Verdict.YES
    assert not decision.open
    assert decision.update(0, 100) is Verdict.YES and decision.n == 150


def test_batch_size_does_not_change_the_totals_that_decide() -> None:
    rng = np.random.default_rng(0)
    samples = rng.random(600) < 0.8
    one, many = (SequentialDecision(0.7, 0.01, max_samples=600) for _ in range(2))
    for sample in samples:
        one.update(int(sample), 1)
    for start in range(0, 600, 100):
        many.update(int(samples[start : start + 100].sum()), 100)
    assert one.answer is many.answer is Verdict.YES
    assert (one.successes, one.n) == (many.successes, many.n)


def test_decision_refuses_what_cannot_be() -> None:
    for wrong, named in [
        (lambda: SequentialDecision(1.0, 0.01), "threshold"),
        (lambda: SequentialDecision(0.5, 0.0), "alpha"),
        (lambda: SequentialDecision(0.5, 0.01, futility=1.0), "futility"),
        (lambda: SequentialDecision(0.5, 0.01, max_samples=0), "max_samples"),
        (lambda: SequentialDecision(0.5, 0.01).update(3, 2), "successes"),
        (lambda: SequentialDecision(0.5, 0.01, max_samples=5).update(3, 6), "remain"),
        (lambda: SequentialDecision(0.5, 0.01, max_samples=5).answers(3, 6), "max_samples"),
        (lambda: ConfidenceSequence(alpha=2.0), "alpha"),
        (lambda: sequence_lower(3, 2, 0.1), "successes"),
    ]:
        with pytest.raises(ValueError, match=named):
            wrong()


def test_unreachable_radius_is_a_threshold_of_one() -> None:
    assert gaussian_l2_probability(9.0, 1.0) == 1.0
    assert gaussian_l2_probability(1.0, 1.0) == pytest.approx(float(ndtr(1.0)))
