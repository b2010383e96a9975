"""RSMI's two-step prediction against a literal transcription of its Algorithm 1."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from scipy.stats import binom

from tiny_models import TEXTS, sentences, tiny_classifier
from unfooled.errors import UsageError
from unfooled.models import Encoded, KeyedNoise, Model, Noise, TextModel
from unfooled.predictors import TwoStep, ballots
from unfooled.predictors.ballots import Ballot
from unfooled.predictors.masking import Masking, MaskPlan, make_plan
from unfooled.predictors.two_step import SecondStage, votes_to_pass

LOUD = TwoStep(sigma=1.0, noise_layers=(0, 1), masked_tokens=2, candidates=4, second_votes=21)
"""Noise so strong that many first votes are not unanimous."""


def one_vote(classifier: TextModel, item: Encoded, ballot: Ballot, noise: Noise) -> torch.Tensor:
    """One noisy forward pass of one masked input, by itself."""
    batch = classifier.batch([item.with_masked(ballot.masked, classifier.mask_token_id)])
    with torch.no_grad():
        return classifier.forward(batch, sampler=KeyedNoise(noise, [ballot.key]), sites=noise.sites).logits[0]


def algorithm_1(
    classifier: TextModel, item: Encoded, predictor: TwoStep, seed: int
) -> tuple[int, list[torch.Tensor], list[torch.Tensor]]:
    """Every vote cast, one after another; the label and the logits of both stages."""
    noise = Noise(predictor.sigma, predictor.noise_layers)
    plan = plan_for(classifier, [item], predictor, seed)
    first = [one_vote(classifier, item, plan.top(0, i), noise) for i in range(predictor.first_votes)]
    votes = counts(first, classifier.num_labels)
    if binom.cdf(max(votes), predictor.first_votes, 0.5) > predictor.alpha:
        return votes.index(max(votes)), first, []
    second = [one_vote(classifier, item, plan.sampled(0, i), noise) for i in range(predictor.second_votes)]
    votes = counts(second, classifier.num_labels)
    return votes.index(max(votes)), first, second


def plan_for(classifier: TextModel | None, items: list[Encoded], predictor: TwoStep, seed: int) -> MaskPlan:
    """The keyed draws that the predictor uses."""
    return make_plan(
        classifier,  # type: ignore[arg-type]
        items,
        seed=seed,
        noise=Noise(predictor.sigma, predictor.noise_layers),
        masking=predictor.masking,
        masked_tokens=predictor.masked_tokens,
        candidates=predictor.candidates,
        saliency_draws=predictor.saliency_draws,
    )


def counts(logits: Sequence[Any], classes: int) -> list[int]:
    tally = Counter(max(range(classes), key=row.__getitem__) for row in logits)
    return [tally[label] for label in range(classes)]


@pytest.mark.full
@pytest.mark.parametrize(
    ("labels", "masking", "first_votes"),
    [(2, "gradient", 5), (3, "gradient", 9), (2, "none", 5), (3, "random", 5)],
)
def test_it_is_algorithm_1(labels: int, masking: Masking, first_votes: int) -> None:
    """The same label, stage and votes as one forward after another, on a model whose votes split."""
    classifier = tiny_classifier("bert", labels=labels, seed=labels, num_hidden_layers=2)
    settings = {"noise_layers": (0,), "second_votes": 14, "alpha": 0.9, "masking": masking}
    predictor = TwoStep(sigma=1.2, first_votes=first_votes, **settings)
    stages = set()
    for seed in range(2):
        encoded = classifier.encode(sentences(8, seed=seed))
        for item, decision in zip(encoded, predictor.decide(classifier, encoded, seed=seed), strict=True):
            label, first, second = algorithm_1(classifier, item, predictor, seed)
            assert decision.label == label
            assert decision.stage == (2 if second else 1)
            saliency = 1 if masking == "gradient" else 0
            assert decision.forwards == saliency + sum(map(sum, decision.votes))
            for counted, cast in zip(decision.votes, (first, second), strict=False):
                assert list(counted) == counts(cast[: sum(counted)], labels)
            stages.add(decision.stage)
    assert 2 in stages, "the votes must split for this test to mean anything"


class OnlyLabels(Model):
    """A model of which nothing is asked but how many labels it has."""

    def __init__(self, labels: int) -> None:
        self.labels = labels

    @property
    def num_labels(self) -> int:
        return self.labels


def made_up(ballot: Ballot, labels: int) -> list[float]:
    """A vote by the ballot's key, some inputs leaning more than others."""
    chooser = random.Random(ballot.key)
    leaning = 1 + ballot.owner % 4
    label = chooser.choices(range(labels), weights=[leaning, *[1] * (labels - 1)])[0]
    return [float(index == label) for index in range(labels)]


def make_up_votes(monkeypatch: pytest.MonkeyPatch, labels: int, inputs: int = 80) -> list[Encoded]:
    """Inputs whose votes are made up, without a model."""
    monkeypatch.setattr(
        "unfooled.predictors.ballots.cast",
        lambda _, __, ballots, *___: [made_up(ballot, labels) for ballot in ballots],
    )
    return [Encoded((number,), (0,), (True,), ((0, 0, 1),)) for number in range(inputs)]


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("first_votes", [2, 5, 9])
@pytest.mark.parametrize("second_votes", [1, 7, 8, 50])
@pytest.mark.parametrize("second_stage", ["fixed", "sequential"])
def test_saving_votes_that_cannot_change_the_label_never_changes_it(
    monkeypatch: pytest.MonkeyPatch,
    labels: int,
    first_votes: int,
    second_votes: int,
    second_stage: SecondStage,
) -> None:
    """Hundreds of made-up votes, close and clear ones, ties among them."""
    encoded = make_up_votes(monkeypatch, labels)
    predictor = TwoStep(
        first_votes=first_votes,
        second_votes=second_votes,
        masking="none",
        alpha=0.9,
        second_stage=second_stage,
        second_error=0.0,
    )
    plan = plan_for(None, encoded, predictor, 0)
    passes = [binom.cdf(count, first_votes, 0.5) > 0.9 for count in range(first_votes + 1)]
    for owner, decision in enumerate(predictor.decide(OnlyLabels(labels), encoded)):
        first, second = (
            [made_up(stage(owner, draw), labels) for draw in range(votes)]
            for stage, votes in ((plan.top, first_votes), (plan.sampled, second_votes))
        )
        stands = passes[max(counts(first, labels))]
        final = counts(first if stands else second, labels)
        assert decision.label == final.index(max(final))
        assert decision.stage == (1 if stands else 2)


def test_mean_logit_casts_every_ballot_and_averages_logits(two_classes: TextModel) -> None:
    predictor = TwoStep(sigma=1.2, noise_layers=(0,), second_votes=9, output="mean-logit")
    encoded = two_classes.encode(sentences(10))
    stages = set()
    for item, decision in zip(encoded, predictor.decide(two_classes, encoded, seed=4), strict=True):
        _, first, second = algorithm_1(two_classes, item, predictor, 4)
        expected = torch.stack(second or first).mean(dim=0).softmax(dim=-1)
        assert decision.scores == pytest.approx(expected.tolist(), abs=1e-5)
        assert decision.label == int(expected.argmax())
        assert decision.forwards == 1 + 5 + (9 if second else 0)
        assert [sum(votes) for votes in decision.votes] == ([5, 9] if second else [5])
        stages.add(decision.stage)
    assert stages == {1, 2}


def test_five_votes_at_098_must_be_unanimous() -> None:
    assert votes_to_pass(5, 0.98) == 5


@pytest.mark.parametrize("votes", [1, 2, 5, 8, 21, 50])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 0.98, 0.999, 1.0])
def test_votes_to_pass_is_the_binomial_test_of_the_authors(votes: int, alpha: float) -> None:
    passing = [count for count in range(votes + 1) if binom.cdf(count, votes, 0.5) > alpha]
    assert votes_to_pass(votes, alpha) == (passing[0] if passing else votes + 1)


def test_unanimous_first_vote_skips_the_second_stage(bert: TextModel) -> None:
    quiet = TwoStep(sigma=0.0, noise_layers=(0,))
    for decision in quiet.decide(bert, bert.encode(TEXTS)):
        assert decision.stage == 1
        assert sorted(decision.votes[0]) == [0, 0, 5]
        assert decision.forwards == 1 + 5
        assert max(decision.scores) == 1.0


def test_a_split_first_vote_runs_the_second_stage(two_classes: TextModel) -> None:
    decisions = LOUD.decide(two_classes, two_classes.encode(sentences(30)))
    split = [decision for decision in decisions if 5 not in decision.votes[0]]
    assert 0 < len(split) < len(decisions)
    assert all(decision.stage == 2 and decision.forwards > 1 + 2 + 11 - 1 for decision in split)
    unanimous = [decision for decision in decisions if 5 in decision.votes[0]]
    assert unanimous and all(decision.stage == 1 for decision in unanimous)


def test_a_second_vote_ends_after_three_quarters_only_where_the_rest_cannot_change_it(
    two_classes: TextModel,
) -> None:
    voting = TwoStep(sigma=1.0, noise_layers=(0, 1), second_votes=20)
    decisions = voting.decide(two_classes, two_classes.encode(sentences(60)))
    tallies = [decision.votes[1] for decision in decisions if decision.stage == 2]
    assert {sum(tally) for tally in tallies} == {15, 20}
    # With five ballots left; class 0 wins a tie.
    stopped = [tally for tally in tallies if sum(tally) == 15]
    assert all(tally[0] >= tally[1] + 5 or tally[1] > tally[0] + 5 for tally in stopped)


def test_abstention_counts_every_vote_of_the_second_stage(two_classes: TextModel) -> None:
    """A share or a significance needs the whole vote, not only its winner."""
    careful = TwoStep(sigma=1.0, noise_layers=(0, 1), second_votes=21, abstain_error_rate=0.05)
    decisions = careful.decide(two_classes, two_classes.encode(sentences(30)))
    second = [decision for decision in decisions if decision.stage == 2]
    assert second
    assert all(sum(decision.votes[1]) == 21 for decision in second)
    assert {decision.abstained for decision in second} == {True, False}


@pytest.mark.parametrize("labels", [2, 4])
def test_a_sequential_second_stage_casts_a_part_of_the_same_ballots(
    monkeypatch: pytest.MonkeyPatch, labels: int
) -> None:
    encoded = make_up_votes(monkeypatch, labels, inputs=200)
    sequential = TwoStep(masking="none", alpha=1.0, second_stage="sequential")  # all reach the second stage
    plan = plan_for(None, encoded, sequential, 0)
    model = OnlyLabels(labels)
    agree = cast = 0
    for owner, decision in enumerate(sequential.decide(model, encoded)):  # type: ignore[arg-type]
        all_ballots = [made_up(plan.sampled(owner, draw), labels) for draw in range(50)]
        final = counts(all_ballots, labels)
        assert list(decision.votes[1]) == counts(all_ballots[: sum(decision.votes[1])], labels)
        assert sum(decision.votes[1]) <= decision.forwards - 5 <= min(50, sum(decision.votes[1]) + 3)
        agree += decision.label == final.index(max(final))
        cast += sum(decision.votes[1])
    assert agree >= 0.97 * 200, "three quarters of these are clear, a quarter are coin tosses"
    assert cast < 0.7 * 50 * 200


def test_a_smaller_second_error_casts_more_ballots(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = make_up_votes(monkeypatch, 2)
    model = OnlyLabels(2)

    def forwards(error: float) -> int:
        predictor = TwoStep(masking="none", second_stage="sequential", second_error=error)
        return sum(one.forwards for one in predictor.decide(model, encoded))  # type: ignore[arg-type]

    assert forwards(0.2) < forwards(0.03) < forwards(0.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"output": "mean-logit"}, "output is mean-logit"),
        ({"abstain_below": 0.6}, "judge the complete vote"),
        ({"abstain_error_rate": 0.01}, "judge the complete vote"),
    ],
)
def test_a_sequential_second_stage_is_refused_where_the_whole_vote_counts(
    bert: TextModel, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        TwoStep(second_stage="sequential", **settings).check(bert)
    TwoStep(**settings).check(bert)


@pytest.mark.parametrize("second_stage", ["fixed", "sequential"])
def test_the_blocks_before_the_noise_run_once_per_masked_input(
    two_classes: TextModel, monkeypatch: pytest.MonkeyPatch, second_stage: SecondStage
) -> None:
    """Over all rounds of both stages; with room for nothing they run again, and the answers are the same."""
    predictor = TwoStep(
        sigma=1.2, noise_layers=(1, 2), masked_tokens=1, candidates=3, second_stage=second_stage
    )
    encoded = two_classes.encode(sentences(12))
    seen: list[tuple[int, ...]] = []
    own = TextModel.shared

    def shared(self: TextModel, batch: Any, sites: Any) -> Any:
        seen.extend(tuple(ids[mask.bool()].tolist()) for ids, mask in zip(batch.ids, batch.mask, strict=True))
        return own(self, batch, sites)

    monkeypatch.setattr(TextModel, "shared", shared)
    decisions = predictor.decide(two_classes, encoded)
    assert {decision.stage for decision in decisions} == {1, 2}
    assert len(seen) == len(set(seen)) > len(encoded)
    monkeypatch.setattr(ballots, "MOST_KEPT", 0)
    assert [(one.label, one.votes) for one in predictor.decide(two_classes, encoded)] == [
        (one.label, one.votes) for one in decisions
    ]
