"""What a ``TextModel`` refuses at once, and how long a text it reads."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from tiny_models import CONFIGS, bert_tokenizer, t5_tokenizer, tiny_classifier, tiny_model
from unfooled.errors import UsageError
from unfooled.models import TextModel

LONGEST = {
    "bert": 64,
    "roberta": 62,
    "xlm-roberta": 62,
    "mpnet": 62,
    "distilbert": 64,
    "electra": 64,
    "albert": 64,
}
"""Of the 64 places of the position table; RoBERTa and its kin lose those up to the padding id."""


@pytest.mark.parametrize("family", LONGEST)
def test_the_longest_text_fills_the_position_table_and_no_more(family: str) -> None:
    classifier = tiny_classifier(family, max_length=10_000)
    assert classifier.max_length == LONGEST[family]
    batch = classifier.batch(classifier.encode(["film " * 500]))
    assert batch.ids.shape == (1, LONGEST[family])
    with torch.no_grad():
        assert classifier.forward(batch).logits.isfinite().all()


@pytest.mark.parametrize("family", ["t5", "deberta-v2-conv"])
def test_relative_positions_set_no_limit(family: str) -> None:
    classifier = tiny_classifier(family, max_length=100)
    batch = classifier.batch(classifier.encode(["film " * 500]))
    assert batch.ids.shape == (1, 100)
    with torch.no_grad():
        assert classifier.forward(batch).logits.isfinite().all()


def test_a_shorter_limit_is_kept() -> None:
    assert tiny_classifier("roberta", max_length=7).max_length == 7


def test_a_tokenizer_without_padding_is_refused() -> None:
    tokenizer = bert_tokenizer()
    model = tiny_model("bert", tokenizer)
    tokenizer.pad_token = None
    with pytest.raises(UsageError, match="no padding token"):
        TextModel(model, tokenizer)


def test_a_slow_tokenizer_is_refused() -> None:
    slow = SimpleNamespace(is_fast=False, pad_token_id=0)
    with pytest.raises(UsageError, match="not a fast tokenizer"):
        TextModel(tiny_model("bert", bert_tokenizer()), slow)


def test_a_model_without_blocks_is_refused_naming_its_type() -> None:
    model = nn.Linear(2, 2)
    model.config = SimpleNamespace(model_type="perceptron")  # type: ignore[assignment]
    model.base_model = model
    model.get_input_embeddings = lambda: None  # type: ignore[assignment]
    with pytest.raises(UsageError, match="'perceptron'"):
        TextModel(model, bert_tokenizer())


def test_t5_without_a_sentinel_has_no_mask_token() -> None:
    tokenizer = t5_tokenizer(sentinel=False)
    assert TextModel(tiny_model("t5", tokenizer), tokenizer).mask_token_id is None


def test_every_listed_family_has_a_tiny_classifier() -> None:
    needed = {"bert", "roberta", "distilbert", "electra", "albert", "deberta-v2", "t5"}
    assert needed <= set(CONFIGS)


def test_bfloat16_gives_nearly_the_same_logits() -> None:
    exact = tiny_classifier("bert")
    rough = TextModel(exact.module, exact.tokenizer, max_length=48, bf16=True)
    batch = exact.batch(exact.encode(["a gorgeous , witty film"]))
    with torch.no_grad():
        expected, found = exact.forward(batch).logits, rough.forward(batch).logits
    assert found.dtype == torch.float32
    assert not torch.equal(found, expected)
    assert (found - expected).abs().max() < 0.1
