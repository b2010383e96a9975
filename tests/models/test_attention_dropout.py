"""The dropout of attention weights: found in every family, and set without touching that of hidden states."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tiny_models import FAMILIES, TEXTS, tiny_classifier, tiny_decoder
from unfooled.defences.parts.base import evaluating
from unfooled.errors import UsageError
from unfooled.models import TextModel
from unfooled.models.attention_dropout import set_attention_dropout

NO_HIDDEN: dict[str, dict[str, Any]] = {
    "distilbert": {"dropout": 0.0, "attention_dropout": 0.5, "seq_classif_dropout": 0.0},
    "albert": {"classifier_dropout_prob": 0.0},
}
"""Other names of what BERT calls hidden_dropout_prob and attention_probs_dropout_prob."""


def answers_vary(classifier: TextModel) -> bool:
    batch = classifier.batch(classifier.encode(TEXTS))
    classifier.module.train()
    first, second = (classifier.forward(batch).logits for _ in range(2))
    return not torch.equal(first, second)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "t5"])
def test_attention_without_dropout_is_all_that_was_random(family: str) -> None:
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.5} | NO_HIDDEN.get(family, {})
    classifier = tiny_classifier(family, **rates)
    assert answers_vary(classifier)
    set_attention_dropout(classifier.module, 0.0)
    assert not answers_vary(classifier)
    set_attention_dropout(classifier.module, 0.3)
    assert answers_vary(classifier)


def test_t5_has_one_rate_for_all_but_attention_gets_its_own() -> None:
    module = tiny_classifier("t5", dropout_rate=0.5).module
    before = [one.p for one in module.modules() if isinstance(one, nn.Dropout)]
    set_attention_dropout(module, 0.0)
    attentions = [one.dropout for one in module.modules() if type(one).__name__ == "T5Attention"]
    assert attentions == [0.0] * 7  # three blocks of the encoder; two of the decoder, which attend twice
    assert [one.p for one in module.modules() if isinstance(one, nn.Dropout)] == before


def test_hidden_dropout_stays() -> None:
    classifier = tiny_classifier("bert", hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.5)
    set_attention_dropout(classifier.module, 0.0)
    rates = [one.p for one in classifier.module.modules() if isinstance(one, nn.Dropout)]
    assert sorted(set(rates)) == [0.0, 0.2]
    assert rates.count(0.0) == classifier.depth


def test_training_steps_in_bfloat16_take_the_attention_that_is_quickly_differentiated() -> None:
    classifier = tiny_classifier("bert")
    batch = classifier.batch(classifier.encode(TEXTS))
    fused: list[bool] = []
    classifier.module.register_forward_hook(lambda *_: fused.append(torch.backends.cuda.flash_sdp_enabled()))
    for bf16 in (False, True):
        classifier.bf16 = bf16
        classifier.module.train()
        classifier.forward(batch)
        with evaluating(classifier):
            classifier.gradient(batch)
        classifier.module.eval()
        classifier.gradient(batch)  # predictions run in several threads: nothing is switched for them
    assert fused == [True, True, True, False, False, True]
    assert torch.backends.cuda.flash_sdp_enabled()


def test_an_encoder_that_keeps_it_elsewhere_is_refused() -> None:
    with pytest.raises(UsageError, match=r"where the encoder type 'gpt2' keeps it.*attention_dropout=null"):
        set_attention_dropout(tiny_decoder().module, 0.0)
