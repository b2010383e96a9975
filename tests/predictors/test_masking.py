"""What a randomised predictor hides: salient words only, never special tokens, never too many."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tiny_models import TEXTS, tiny_classifier
from unfooled.errors import UsageError
from unfooled.models import Batch, Encoded, Noise, TextModel
from unfooled.predictors import Sequential, TwoStep, Vote
from unfooled.predictors.masking import MaskPlan, make_plan
from unfooled.predictors.saliency import rank_tokens

LOUD = {"sigma": 1.5, "noise_layers": (0,)}
MASKERS = {
    "two-step gradient": TwoStep(masked_tokens=3, candidates=5, **LOUD),
    "two-step random": TwoStep(masked_tokens=3, masking="random", **LOUD),
    "two-step none": TwoStep(masked_tokens=3, candidates=5, masking="none", **LOUD),
    "vote gradient": Vote(masked_tokens=3, masking="gradient", **LOUD),
    "vote random": Vote(masked_tokens=3, masking="random", **LOUD),
    "sequential": Sequential(masked_tokens=3, candidates=5, **LOUD),
}


def plan_of(classifier: TextModel, texts: list[str], masking: str, **changes: Any) -> MaskPlan:
    settings = {"masked_tokens": 2, "candidates": 4, "saliency_draws": 1, **changes}
    noise = Noise(0.5, (0,))
    return make_plan(classifier, classifier.encode(texts), seed=0, noise=noise, masking=masking, **settings)


@pytest.mark.parametrize("predictor", MASKERS.values(), ids=MASKERS)
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_masked_positions_are_words_and_at_most_m(
    predictor: TwoStep, family: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    classifier: TextModel = request.getfixturevalue(family)
    seen: list[Batch] = []
    make = TextModel.batch

    def spy(self: TextModel, encoded: list[Encoded], labels: list[int] | None = None) -> Batch:
        seen.append(make(self, encoded, labels))
        return seen[-1]

    monkeypatch.setattr(TextModel, "batch", spy)
    encoded = classifier.encode(TEXTS)
    decisions = predictor.decide(classifier, encoded)
    hidden = [batch.ids == classifier.mask_token_id for batch in seen]
    for batch, masked in zip(seen, hidden, strict=True):
        assert not (masked & ~batch.maskable).any(), "a special token or padding was masked"
        assert int(masked.sum(dim=1).max()) <= 3
    assert any(masked.any() for masked in hidden) == (predictor.masking != "none")
    for item, decision in zip(encoded, decisions, strict=True):
        assert all(item.maskable[position] for position in decision.masked)
        wanted = min(3, sum(item.maskable)) if predictor.masking == "gradient" else 0
        assert len(set(decision.masked)) == len(decision.masked) == wanted


def test_a_text_shorter_than_m_masks_what_it_can(bert: TextModel) -> None:
    predictor = TwoStep(sigma=1.5, noise_layers=(0,), masked_tokens=5, candidates=9)
    (decision,) = predictor.decide(bert, bert.encode(["dull"]))
    assert decision.masked == (1,)


def test_the_most_salient_words_are_masked_first(bert: TextModel) -> None:
    encoded = bert.encode([TEXTS[2]])
    gradient, _ = bert.gradient(bert.batch(encoded))
    norms = gradient[0].norm(dim=-1).tolist()
    words = [position for position, maskable in enumerate(encoded[0].maskable) if maskable]
    expected = sorted(words, key=lambda position: -norms[position])[:3]
    gm = Vote(sigma=0, noise_layers=(), masked_tokens=3, votes=1, masking="gradient")
    assert list(gm.decide(bert, encoded)[0].masked) == expected


def test_equal_saliency_is_ranked_the_same_with_any_padding() -> None:
    """A very confident model has gradients of exactly zero: the order may not depend on the batch."""
    for width in (5, 17, 64, 300):
        maskable = torch.zeros(1, width, dtype=torch.bool)
        maskable[0, 1:5] = True
        assert rank_tokens(torch.zeros(1, width, 8), maskable, 3) == [[1, 2, 3]]


def test_second_stage_masks_differ_and_come_from_the_candidates(bert: TextModel) -> None:
    plan = plan_of(bert, [TEXTS[2]], "gradient")
    masks = [frozenset(plan.sampled(0, draw).masked) for draw in range(200)]
    assert set().union(*masks) == set(plan.ranked[0])
    assert len(plan.ranked[0]) == 4
    assert all(len(mask) == 2 for mask in masks)
    counts = {mask: masks.count(mask) for mask in set(masks)}
    assert len(counts) == 6, "every pair of the four candidates comes up"
    assert min(counts.values()) > 15
    assert {plan.top(0, draw).masked for draw in range(9)} == {tuple(plan.ranked[0][:2])}


@pytest.mark.parametrize("stage", ["top", "sampled"])
def test_random_masking_draws_from_all_words_in_both_stages(bert: TextModel, stage: str) -> None:
    plan = plan_of(bert, [TEXTS[2]], "random")
    words = set(range(1, len(bert.encode([TEXTS[2]])[0]) - 1))
    ballots = [getattr(plan, stage)(0, draw) for draw in range(200)]
    assert set().union(*(ballot.masked for ballot in ballots)) == words
    assert all(len(ballot.masked) == 2 for ballot in ballots)


@pytest.mark.parametrize("masking", ["gradient", "random", "none"])
def test_no_two_votes_of_an_input_share_their_noise(bert: TextModel, masking: str) -> None:
    plan = plan_of(bert, [TEXTS[0]], masking)
    keys = {stage(0, draw).key for stage in (plan.top, plan.sampled) for draw in range(100)}
    assert len(keys) == 200
    first, second = ([stage(0, draw).masked for draw in range(9)] for stage in (plan.top, plan.sampled))
    assert masking == "none" or first != second


@pytest.mark.parametrize("draws", [1, 3])
def test_saliency_passes_are_counted(bert: TextModel, draws: int) -> None:
    assert plan_of(bert, [TEXTS[0]], "gradient", saliency_draws=draws).saliency_forwards == draws
    assert plan_of(bert, [TEXTS[0]], "random", saliency_draws=draws).saliency_forwards == 0
    assert plan_of(bert, [TEXTS[0]], "gradient", masked_tokens=0).saliency_forwards == 0


@pytest.mark.parametrize("predictor", [TwoStep, Vote, Sequential])
def test_settings_the_encoder_cannot_serve_are_refused_by_name(predictor: type) -> None:
    bert = tiny_classifier("bert")
    with pytest.raises(UsageError, match="noise_layers: block 3"):
        predictor(noise_layers=(0, 3)).check(bert)
    with pytest.raises(UsageError, match="noise_layers: sigma is above 0"):
        predictor(sigma=0.1, noise_layers=()).check(bert)
    predictor(sigma=0.0, noise_layers=()).check(bert)
    if predictor is not Vote:
        with pytest.raises(UsageError, match=r"masked_tokens \(M\) is 5 but candidates \(N\) is 4"):
            predictor(masked_tokens=5, candidates=4).check(bert)


@pytest.mark.parametrize("masking", ["gradient", "random"])
def test_a_share_masks_by_length_up_to_m_and_none_of_very_short_texts(bert: TextModel, masking: str) -> None:
    texts = ["good", "good film", "good film " * 2, "good film " * 4, "good film " * 10]
    plan = plan_of(bert, texts, masking, masked_tokens=3, candidates=7, masked_share=0.2)
    words = [sum(item.maskable) for item in bert.encode(texts)]
    assert words == [1, 2, 4, 8, 20]
    for stage in (plan.top, plan.sampled):
        assert [len(stage(owner, 0).masked) for owner in range(5)] == [0, 0, 1, 2, 3]
    if masking == "gradient":
        assert [len(own) for own in plan.ranked] == [1, 1, 3, 5, 7]
    everywhere = plan_of(bert, texts, masking, masked_tokens=3, candidates=7)
    assert [len(everywhere.top(owner, 0).masked) for owner in range(5)] == [1, 2, 3, 3, 3]
