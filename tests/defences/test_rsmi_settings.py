"""RSMI's settings: the paper's defaults, and a refusal by name before any work."""

from __future__ import annotations

from typing import Any

import pytest

from tiny_models import t5_tokenizer, tiny_classifier, tiny_model
from unfooled.defences import Rsmi, make_defence
from unfooled.defences.rsmi import spread
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.predictors import TwoStep


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sigma": -0.1}, "sigma must be at least 0, got -0.1"),
        ({"sigma": float("nan")}, "sigma must be a finite number"),
        ({"sigma": "loud"}, "sigma must be a number or empty, got 'loud'"),
        ({"masked_tokens": -1}, "masked_tokens must be at least 0"),
        ({"masked_tokens": 1.5}, "masked_tokens must be a whole number or empty, got 1.5"),
        ({"masked_tokens": 3, "candidates": 2}, r"masked_tokens \(M\) is 3 but candidates \(N\) is 2"),
        ({"saliency_draws": 0}, "saliency_draws must be at least 1"),
        ({"embedding_step": -1}, "embedding_step must be at least 0"),
        ({"warmup": 1.1}, "warmup must be at most 1"),
        ({"first_votes": 0}, "first_votes must be at least 1"),
        ({"second_votes": 0}, "second_votes must be at least 1, got 0"),
        ({"alpha": 1.01}, "alpha must be at most 1"),
        ({"output": "majority"}, "output must be one of 'vote', 'mean-logit', got 'majority'"),
        ({"noise_layers": [0, 3]}, "noise_layers: block 3 does not exist; this encoder has 3 blocks"),
        ({"noise_layers": [-1]}, "noise_layers: block -1 does not exist"),
        ({"noise_layers": 4}, "noise_layers: block 3 does not exist"),
        ({"noise_layers": ["middle"]}, "noise_layers must be"),
        ({"noise_layers": 0}, "noise_layers: sigma is above 0"),
        ({"noise_layers": True}, "noise_layers must be"),
        ({"noise_layers": 2, "noise_stride": 2}, "noise_layers and noise_stride both say which blocks"),
        ({"noise_stride": 0}, "noise_stride must be at least 1"),
        ({"noise_stride": 4}, "noise_stride is 4, but this encoder has 3 blocks. Choose 1 to 3"),
        ({"second_stage": "early"}, "second_stage must be one of 'fixed', 'sequential', got 'early'"),
        ({"second_stage": "sequential", "output": "mean-logit"}, "second_stage: sequential stops when"),
        ({"sigam": 0.3}, r"no setting 'sigam'. Did you mean 'sigma'\?"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_by_name_before_any_work(
    bert: TextModel, settings: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TextModel, "forward", lambda *_, **__: pytest.fail("work was done"))
    with pytest.raises(UsageError, match=message):
        make_defence("rsmi", settings).resolved(bert)


def test_an_encoder_without_a_mask_token_is_refused_unless_nothing_is_masked() -> None:
    tokenizer = t5_tokenizer(sentinel=False)
    classifier = TextModel(tiny_model("t5", tokenizer), tokenizer)
    with pytest.raises(UsageError, match=r"masked_tokens: the tokenizer .* has no mask token"):
        make_defence("rsmi").resolved(classifier)
    with pytest.raises(UsageError, match="has no mask token"):  # training masks whatever answers do
        make_defence("rsmi", {"masking": "none"}).resolved(classifier)
    assert make_defence("rsmi", {"masked_tokens": 0}).resolved(classifier).masked_tokens == 0


@pytest.mark.parametrize(
    ("count", "depth", "blocks"),
    [(4, 12, (0, 3, 6, 9)), (3, 12, (0, 4, 8)), (3, 6, (0, 2, 4)), (1, 6, (0,)), (2, 3, (0, 1)), (0, 6, ())],
)
def test_noise_layers_are_spread_evenly_from_the_first_block(
    count: int, depth: int, blocks: tuple[int, ...]
) -> None:
    assert spread(count, depth) == blocks


@pytest.mark.parametrize(
    ("stride", "depth", "blocks"),
    [(3, 12, (0, 3, 6, 9)), (4, 12, (0, 4, 8)), (3, 6, (0, 3)), (1, 3, (0, 1, 2)), (6, 6, (0,))],
)
def test_a_stride_is_what_the_authors_code_makes_of_its_number(
    stride: int, depth: int, blocks: tuple[int, ...]
) -> None:
    classifier = tiny_classifier("bert", num_hidden_layers=depth)
    resolved = make_defence("rsmi", {"noise_stride": stride}).resolved(classifier)
    assert isinstance(resolved, Rsmi) and resolved.noise_layers == blocks
    assert resolved.resolved(classifier) == resolved


@pytest.mark.parametrize("depth", [1, 2, 6, 12, 24])
def test_a_spread_names_as_many_different_blocks_as_asked(depth: int) -> None:
    for count in range(1, depth + 1):
        blocks = spread(count, depth)
        assert len(set(blocks)) == count
        assert set(blocks) <= set(range(depth))


@pytest.mark.parametrize(
    ("family", "sigma", "masked"), [("bert", 0.2, 2), ("roberta", 0.4, 4), ("t5", 0.2, 2)]
)
def test_defaults_are_the_papers_for_the_family(family: str, sigma: float, masked: int) -> None:
    classifier = tiny_classifier(family, max_length=128, max_position_embeddings=200)
    resolved = make_defence("rsmi").resolved(classifier)
    assert isinstance(resolved, Rsmi)
    assert (resolved.sigma, resolved.masked_tokens, resolved.noise_layers) == (sigma, masked, (0, 1, 2))
    assert resolved.candidates == 2 * masked + 1


@pytest.mark.parametrize("depth", [1, 2])
def test_defaults_fit_a_shallow_encoder(depth: int) -> None:
    classifier = tiny_classifier("bert", num_hidden_layers=depth)
    assert make_defence("rsmi").resolved(classifier).noise_layers == tuple(range(depth))


def test_short_texts_mask_one_word_and_take_the_noise_late() -> None:
    resolved = make_defence("rsmi").resolved(tiny_classifier("roberta", max_length=32, num_hidden_layers=5))
    assert isinstance(resolved, Rsmi)
    assert (resolved.masked_tokens, resolved.noise_layers, resolved.warmup) == (1, (3, 4), 0.5)
    assert resolved.masking == "none", "in answers"
    asked = make_defence("rsmi", {"masked_tokens": 2}).resolved(tiny_classifier("bert", max_length=32))
    assert isinstance(asked, Rsmi) and asked.masking == "gradient"


def test_given_settings_win_over_defaults_and_reach_the_predictor(bert: TextModel) -> None:
    given = {
        "sigma": 0.33,
        "noise_layers": ["embeddings", 2],
        "masked_tokens": 3,
        "candidates": 5,
        "saliency_draws": 2,
        "first_votes": 7,
        "second_votes": 9,
        "second_stage": "sequential",
        "second_error": 0.1,
        "masking": "none",
        "alpha": 0.9,
        "output": "vote",
    }
    predictor = make_defence("rsmi", given).resolved(bert).predictor(bert)
    assert predictor == TwoStep(**{**given, "noise_layers": ("embeddings", 2)})


def test_a_count_of_layers_becomes_the_list(bert: TextModel) -> None:
    assert make_defence("rsmi", {"noise_layers": 2}).resolved(bert).noise_layers == (0, 1)


def test_silence_needs_no_layers(bert: TextModel) -> None:
    assert make_defence("rsmi", {"sigma": 0, "noise_layers": []}).resolved(bert).noise_layers == ()
