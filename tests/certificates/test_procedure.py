"""The sampling procedure keeps its error rate, never shares draws, and stops when the question is decided."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from unfooled.certificates.procedure import Smoother, Votes, check_sampling, sample_votes
from unfooled.certificates.radii import (
    Radii,
    deletion_radii,
    masking_radii,
    noise_radii,
    synonym_radii,
    the_rest,
)
from unfooled.certificates.sampling import Sampling
from unfooled.errors import UsageError
from unfooled.statistics.bounds import composed_each_word, composed_linf
from unfooled.statistics.confidence import clopper_pearson_lower
from unfooled.statistics.noise_budget import composed_sigma


class Dice:
    """Numbered draws of loaded dice, one an input; remembers what was asked for."""

    def __init__(self, chances: Sequence[Sequence[float]], seed: int) -> None:
        self.chances, self.seed = chances, seed
        self.asked: list[tuple[int, int, int]] = []

    def counts(self, requests: Sequence[tuple[int, int, int]]) -> list[NDArray[np.int64]]:
        self.asked += requests
        found = []
        for owner, first, count in requests:
            rng = np.random.default_rng([self.seed, owner])
            faces = rng.choice(len(self.chances[owner]), p=self.chances[owner], size=first + count)[first:]
            found.append(np.bincount(faces, minlength=len(self.chances[owner])).astype(np.int64))
        return found


def smoother(chances: Sequence[Sequence[float]], seed: int = 0) -> Smoother:
    return Smoother(Dice(chances, 2 * seed), Dice(chances, 2 * seed + 1), len(chances[0]), len(chances))


UNIT = noise_radii("l2", ["gaussian"], sigmas=[1.0], dim=1)


def votes_of(
    chances: Sequence[Sequence[float]],
    seed: int = 0,
    in_flight: int = 16,
    radii: Radii = UNIT,
    **sampling: object,
) -> list[Votes]:
    made = Sampling(**sampling)  # type: ignore[arg-type]
    found = dict(sample_votes(smoother(chances, seed), made, lambda _: radii, in_flight=in_flight))
    assert sorted(found) == list(range(len(chances)))
    return [found[number] for number in range(len(chances))]


MANY = [[p, (1 - p) / 2, (1 - p) / 2] for p in np.linspace(0.4, 0.999, 40)]


@pytest.mark.full
@pytest.mark.parametrize(
    "sampling",
    [
        {},
        {"adaptive": True},
        {"adaptive": True, "radius": 0.5},
        {"two_class": True},
        {"two_class": True, "adaptive": True},
        {"radius": 0.5},
    ],
)
def test_votes_do_not_depend_on_what_is_worked_on_together(sampling: dict[str, object]) -> None:
    alone, together = (
        votes_of(MANY, n=700, alpha=0.01, in_flight=in_flight, **sampling) for in_flight in (1, 40)
    )
    assert alone == together


def test_a_fixed_sample_is_clopper_pearson_on_the_estimation_draws_alone() -> None:
    made = smoother(MANY)
    for number, votes in sample_votes(made, Sampling(n0=50, n=400), lambda _: UNIT):
        assert sum(votes.selection) == 50 and sum(votes.counts) == 400 and votes.samples == 450
        hits = made.estimate.counts([(number, 0, 400)])[0][votes.leader]
        assert votes.counts[votes.leader] == hits
        assert votes.p_top == clopper_pearson_lower(int(hits), 400, 0.001)
        assert votes.p_second == the_rest(votes.p_top)
        assert votes.certified is (votes.p_top > 0.5)
        assert votes.leader == int(np.argmax(votes.selection))


@pytest.mark.full
def test_no_draw_is_asked_for_twice() -> None:
    made = smoother(MANY)
    list(sample_votes(made, Sampling(n=5000, adaptive=True), lambda _: UNIT, in_flight=3))
    for dice in (made.select, made.estimate):
        assert isinstance(dice, Dice)
        spans: dict[int, int] = {}
        for owner, first, count in dice.asked:
            assert first == spans.get(owner, 0) and count > 0
            spans[owner] = first + count


@pytest.mark.full
@pytest.mark.parametrize(
    "sampling", [{"n": 200}, {"n": 300, "adaptive": True}, {"n": 300, "adaptive": True, "radius": 0.4}]
)
def test_wrong_certificates_are_as_rare_as_stated(sampling: dict[str, object]) -> None:
    """150 inputs at α = 0.05: the certified radius exceeds the true one for at most 5 % of them."""
    for p in (0.6, 0.9):
        true = float(norm.ppf(p))
        wrong = sum(
            votes.certified and UNIT.certified(votes.p_top, votes.p_second) > true
            for votes in votes_of([[p, 1 - p]] * 150, alpha=0.05, n0=20, in_flight=150, **sampling)
            if votes.leader == 0
        )
        assert wrong <= 0.05 * 150 + 3 * (150 * 0.05 * 0.95) ** 0.5


def test_a_question_is_answered_with_few_draws() -> None:
    sure, not_sure, close = votes_of(
        [[1.0, 0.0], [0.55, 0.45], [0.6915, 0.3085]], adaptive=True, radius=0.5, n=10_000
    )
    assert (sure.answer, sure.certified, sure.samples < 100) == ("yes", True, True)
    assert (not_sure.answer, not_sure.certified, not_sure.samples < 2000) == ("no", False, True)
    assert close.answer in ("undecided", "no") and not close.certified
    assert UNIT.certified(sure.p_top, sure.p_second) >= 0.5


def test_a_radius_out_of_reach_costs_no_estimation_draws() -> None:
    (votes,) = votes_of([[1.0, 0.0]], adaptive=True, radius=9.0)
    assert (votes.answer, votes.certified, sum(votes.counts)) == ("no", False, 0)


def test_stopping_without_a_question_saves_draws_and_keeps_most_of_the_radius() -> None:
    fixed, early = (votes_of([[0.9, 0.1], [1.0, 0.0]], n=20_000, adaptive=a) for a in (False, True))
    for all_draws, some in zip(fixed, early, strict=True):
        assert some.samples < 0.25 * all_draws.samples
        ratio = UNIT.certified(some.p_top, some.p_second) / UNIT.certified(
            all_draws.p_top, all_draws.p_second
        )
        assert 0.6 < ratio <= 1.02
    (lost,) = votes_of([[0.34, 0.33, 0.33]], n=20_000, adaptive=True)
    assert not lost.certified and lost.samples < 1000  # its upper bound falls below one half


def test_early_stopping_waits_for_the_first_word() -> None:
    """A radius of 0 words now may be 1 after more draws: that is not a reason to stop."""
    radii = masking_radii(10, 3)  # one word needs p > 0.8
    (votes,) = votes_of([[0.9, 0.1]], adaptive=True, n=10_000, radii=radii)
    assert radii.certified(votes.p_top, votes.p_second) == 1


def test_runner_up_by_its_own_votes_gives_more_where_three_classes_share() -> None:
    chances = [[0.45, 0.275, 0.275]]
    (plain,) = votes_of(chances, n=20_000)
    (own,) = votes_of(chances, n=20_000, two_class=True)
    assert not plain.certified and own.certified
    assert own.p_top <= 0.45 and own.p_second >= 0.275
    assert UNIT.certified(own.p_top, own.p_second) > 0


def test_early_stopping_bounds_the_runner_up_too() -> None:
    """Words need 0.85 of a majority; a lead of 0.7 is worth that much, and is seen with fewer draws."""
    radii = deletion_radii("edits", 0.9, within_bin=None)
    chances = [[0.78, 0.08, 0.07, 0.07]]
    (plain,) = votes_of(chances, adaptive=True, n=10_000, radii=radii)
    (own,) = votes_of(chances, adaptive=True, two_class=True, n=10_000, radii=radii)
    assert radii.certified(plain.p_top, plain.p_second) == 2
    assert radii.certified(own.p_top, own.p_second) == 3
    assert own.p_top <= 0.78 and 0.08 <= own.p_second < 1 - own.p_top
    (below,) = votes_of([[0.45, 0.275, 0.275]], adaptive=True, two_class=True, n=10_000, radii=radii)
    assert below.certified and below.p_top < 0.5


def test_early_stopping_gives_up_a_class_that_does_not_lead() -> None:
    """The selection may choose wrongly: then the class is excluded or undecided, and never certified."""
    wrong = 0
    for votes in votes_of([[0.3, 0.6, 0.1]] * 8, adaptive=True, two_class=True, n0=1, n=1000):
        wrong += votes.leader != 1
        assert votes.leader == 1 or (not votes.certified and votes.samples < 500)
    assert wrong


@pytest.mark.parametrize(
    "radii",
    [
        UNIT,
        noise_radii("linf", ["renyi"], sigmas=[0.3], dim=500),
        noise_radii("l2", ["composed"], sigmas=[0.3, 0.4], dim=7),
        noise_radii("l1", ["laplace"], sigmas=[0.3], dim=7),
        noise_radii("l2", ["pixeldp"], sigmas=[0.3], dim=7),
        masking_radii(12, 2),
        synonym_radii([0.9, 0.8, 1.0, 0.95]),
    ],
)
def test_threshold_is_the_least_probability_with_that_radius(radii: Radii) -> None:
    largest = radii.certified(1 - 2**-53, 2**-53)
    for radius in (1, 2) if radii.whole else (0.1 * largest, 0.4 * largest):
        threshold = radii.threshold(radius)
        assert threshold is not None
        assert radii.certified(threshold, the_rest(threshold)) >= radius
        below = threshold - 1e-9
        assert radii.certified(below, the_rest(below)) < radius
    assert radii.threshold(largest + 1) is None


def test_maximum_norm_radius_is_the_euclidean_one_over_the_root_of_the_size() -> None:
    bounds = ["gaussian", "renyi", "pixeldp", "composed"]
    for threat, steps in (("linf", [0.5]), ("each-word", [0.5]), ("linf", [0.5 * 2**0.5] * 2)):
        found = noise_radii(threat, bounds, sigmas=steps, dim=400).every(0.9, 0.1)
        together = noise_radii("l2", bounds, sigmas=steps, dim=400).every(0.9, 0.1)
        assert found == {name: pytest.approx(radius / 20) for name, radius in together.items()}
        assert max(found.values()) <= 0.5 * norm.ppf(0.9) / 20  # the true one, rounded down
        assert found["gaussian"] == composed_linf(0.9, 0.1, [composed_sigma(steps)], 400)
        assert found["composed"] == composed_each_word(0.9, 0.1, steps, 400)


def test_one_step_composes_to_itself_and_two_to_their_sum() -> None:
    one = noise_radii("l2", ["gaussian", "composed"], sigmas=[0.5], dim=1).every(0.9, 0.1)
    assert one["composed"] == pytest.approx(one["gaussian"])
    two = noise_radii("l2", ["composed"], sigmas=[0.5**0.5, 0.5**0.5], dim=1).every(0.9, 0.1)
    assert two["composed"] == pytest.approx(one["gaussian"])


def test_no_more_words_are_certified_than_could_be_replaced() -> None:
    """A text of two words with substitutes: «three words» would be a promise about nothing."""
    radii = synonym_radii([1.0, 1.0])
    assert radii.certified(0.99, 0.01) == 2 == radii.changeable
    nothing = synonym_radii([])
    assert nothing.certified(0.99, 0.01) == 0 == nothing.changeable and nothing.threshold(1) is None


def test_settings_that_make_no_sense_are_refused() -> None:
    for bad, match in (
        ({"n": 0}, "n must be at least 1"),
        ({"alpha": 0.0}, "alpha must be at least"),
        ({"alpha": float("nan")}, "finite"),
        ({"radius": -1.0}, "radius must be at least 0"),
        ({"adaptive": True, "two_class": True, "radius": 1.0}, "Leave out radius"),
    ):
        with pytest.raises(UsageError, match=match):
            Sampling(**bad)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"whole number, not 1\.5"):
        check_sampling(Sampling(radius=1.5), ["masking"])
