"""What every predictor promises: an answer is a function of the seed and the text alone."""

from __future__ import annotations

import pytest
import torch

from tiny_models import TEXTS
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.predictors import (
    PREDICTORS,
    Classifier,
    Plain,
    Predictor,
    Sequential,
    TwoStep,
    Vote,
    make_predictor,
)
from unfooled.records.decision import Decision

LOUD = {"sigma": 1.0, "noise_layers": (0, 2)}
RANDOMISED: dict[str, Predictor] = {
    "two-step": TwoStep(second_votes=11, **LOUD),
    "two-step mean-logit": TwoStep(second_votes=7, output="mean-logit", saliency_draws=2, **LOUD),
    "two-step random": TwoStep(second_votes=7, masking="random", **LOUD),
    "two-step at the embeddings": TwoStep(sigma=0.7, noise_layers=("embeddings",), second_votes=7),
    "no mask": TwoStep(second_votes=7, masking="none", **LOUD),
    "single step": Vote(masking="gradient", abstain_below=0.7, **LOUD),
    "random masking": Vote(sigma=0.0, noise_layers=(), masking="random", votes=7, output="mean-logit"),
    "noisy vote": Vote(masking="none", abstain_error_rate=0.1, **LOUD),
    "sequential": Sequential(max_votes=15, **LOUD),
    "sequential abstaining": Sequential(max_votes=15, abstain=True, saliency_draws=2, **LOUD),
}
FIXED: dict[str, Predictor] = {
    "plain": Plain(),
    "gradient masking": Vote(sigma=0.0, noise_layers=(), masking="gradient", votes=1, output="mean-logit"),
}
EVERY = {**FIXED, **RANDOMISED}


def same(first: Decision, second: Decision) -> bool:
    return (
        (first.label, first.votes, first.masked, first.forwards, first.abstained)
        == (second.label, second.votes, second.masked, second.forwards, second.abstained)
    ) and first.scores == pytest.approx(second.scores, abs=1e-5)


@pytest.mark.full
@pytest.mark.parametrize("predictor", EVERY.values(), ids=EVERY)
def test_answers_do_not_depend_on_the_batch(
    bert: TextModel, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = bert.encode(TEXTS)
    together = predictor.decide(bert, encoded, seed=5)
    alone = [predictor.decide(bert, [item], seed=5)[0] for item in encoded]
    backwards = predictor.decide(bert, encoded[::-1], seed=5)[::-1]
    monkeypatch.setattr(TextModel, "batch_size", 40)
    small_batches = predictor.decide(bert, encoded, seed=5)
    monkeypatch.setattr("torch.get_num_threads", lambda: 3)
    side_by_side = predictor.decide(bert, encoded, seed=5)
    for other in (alone, backwards, small_batches, side_by_side):
        assert all(map(same, together, other))


@pytest.mark.parametrize("predictor", RANDOMISED.values(), ids=RANDOMISED)
def test_each_input_may_have_its_own_seed(bert: TextModel, predictor: Predictor) -> None:
    encoded = bert.encode(TEXTS)
    together = predictor.decide(bert, encoded, seed=list(range(len(encoded))))
    alone = [predictor.decide(bert, [item], seed=number)[0] for number, item in enumerate(encoded)]
    assert all(map(same, together, alone))


@pytest.mark.parametrize("predictor", RANDOMISED.values(), ids=RANDOMISED)
def test_the_seed_decides_the_votes(bert: TextModel, predictor: Predictor) -> None:
    encoded = bert.encode(TEXTS)
    first, again, other = (predictor.decide(bert, encoded, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert not all(map(same, first, other))


@pytest.mark.parametrize("predictor", FIXED.values(), ids=FIXED)
def test_a_predictor_without_noise_ignores_the_seed(bert: TextModel, predictor: Predictor) -> None:
    encoded = bert.encode(TEXTS)
    assert predictor.decide(bert, encoded, seed=1) == predictor.decide(bert, encoded, seed=2)


def test_no_seed_means_a_fresh_one_each_time(bert: TextModel) -> None:
    classifier = Classifier(bert, RANDOMISED["two-step mean-logit"], labels=["a", "b", "c"])
    first, second = (classifier.predict(TEXTS, seed=None) for _ in range(2))
    assert [p.scores for p in first] != [p.scores for p in second]
    assert classifier.predict(TEXTS) == classifier.predict(TEXTS, seed=0)


@pytest.mark.parametrize("predictor", EVERY.values(), ids=EVERY)
def test_scores_and_votes_are_consistent(bert: TextModel, predictor: Predictor) -> None:
    for decision in predictor.decide(bert, bert.encode(TEXTS)):
        assert sum(decision.scores) == pytest.approx(1)
        assert decision.scores[decision.label] == max(decision.scores)
        assert decision.stage == len(decision.votes)
        assert decision.forwards >= max(1, sum(map(sum, decision.votes)))


@pytest.mark.parametrize("predictor", EVERY.values(), ids=EVERY)
def test_a_described_predictor_can_be_made_again(predictor: Predictor) -> None:
    described = predictor.describe()
    assert make_predictor(described.pop("name"), described) == predictor


@pytest.mark.parametrize("predictor", EVERY.values(), ids=EVERY)
def test_no_inputs_give_no_decisions(bert: TextModel, predictor: Predictor) -> None:
    assert predictor.decide(bert, []) == []


@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode])
def test_prediction_works_where_gradients_are_switched_off(bert: TextModel, switch: type) -> None:
    classifier = Classifier(bert, RANDOMISED["two-step"], labels=["a", "b", "c"])
    expected = classifier.predict(TEXTS[:3])
    with switch():
        assert classifier.predict(TEXTS[:3]) == expected


def test_prediction_leaves_training_mode(bert: TextModel) -> None:
    """Dropout is off in a prediction, whatever the model was doing before."""
    classifier = Classifier(bert, Plain(), labels=["a", "b", "c"])
    expected = classifier.predict(TEXTS)
    bert.module.train()
    assert classifier.predict(TEXTS) == expected


def test_predictors_are_found_by_name() -> None:
    assert {"plain", "two-step", "vote", "sequential"} <= set(PREDICTORS)
    with pytest.raises(UsageError, match=r"no predictor 'twostep'. Did you mean 'two-step'\?"):
        make_predictor("twostep")
    with pytest.raises(UsageError, match="predictor 'vote': votes must be at least 1, got 0"):
        make_predictor("vote", {"votes": 0})
