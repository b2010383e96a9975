"""``TextModel`` around every encoder family: the same model, opened up without being changed."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tiny_models import TEXTS, tiny_classifier
from unfooled.models import Batch, KeyedNoise, Noise, TextModel


def plain_call(classifier: TextModel, batch: Batch, **options: bool) -> object:
    """The Hugging Face model called as its own documentation says."""
    inputs = {"input_ids": batch.ids, "attention_mask": batch.mask}
    if getattr(classifier.module.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = batch.type_ids
    with torch.no_grad():
        return classifier.module(**inputs, **options)


def logits(classifier: TextModel, batch: Batch, **options: object) -> Tensor:
    with torch.no_grad():
        return classifier.forward(batch, **options).logits  # type: ignore[arg-type]


def hooks(classifier: TextModel) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in classifier.module.modules())


@pytest.fixture
def batch(any_classifier: TextModel) -> Batch:
    return any_classifier.batch(any_classifier.encode(TEXTS[:4]))


def test_forward_is_the_plain_hugging_face_call(any_classifier: TextModel, batch: Batch) -> None:
    assert not batch.mask.all(), "the batch must have padding for this test to mean anything"
    assert_close(logits(any_classifier, batch), plain_call(any_classifier, batch).logits)


def test_forward_of_pairs_is_the_plain_hugging_face_call(any_classifier: TextModel) -> None:
    pairs = any_classifier.batch(any_classifier.encode(TEXTS[:3], TEXTS[3:6]))
    assert_close(logits(any_classifier, pairs), plain_call(any_classifier, pairs).logits)


def test_the_tables_own_output_as_embeddings_changes_nothing(any_classifier: TextModel, batch: Batch) -> None:
    own = any_classifier.start(batch).detach()
    assert_close(logits(any_classifier, batch, start=own), logits(any_classifier, batch))


def test_embeddings_of_other_ids_give_the_logits_of_those_ids(any_classifier: TextModel) -> None:
    """Forward from embeddings is forward from ids, for every path that reads the text (T5 has two)."""
    first, second = (
        any_classifier.batch(any_classifier.encode([text])) for text in ("a bold film", "the old war")
    )
    assert first.ids.shape == second.ids.shape
    borrowed = any_classifier.start(second).detach()
    assert_close(logits(any_classifier, first, start=borrowed), logits(any_classifier, second))
    assert not torch.allclose(logits(any_classifier, first), logits(any_classifier, second), atol=1e-3)


def test_padding_does_not_change_the_logits(any_classifier: TextModel, batch: Batch) -> None:
    alone = [
        logits(any_classifier, any_classifier.batch(any_classifier.encode([text]))) for text in TEXTS[:4]
    ]
    assert_close(logits(any_classifier, batch), torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sites", [("embeddings",), (0,), (2,), (0, 2), ("embeddings", 1)])
@pytest.mark.parametrize("padded", [True, False], ids=["padded", "unpadded"])
def test_copies_give_the_logits_of_a_repeated_batch(
    any_classifier: TextModel, sites: tuple[int | str, ...], padded: bool
) -> None:
    texts = TEXTS[:3] if padded else ["a bold film", "the old war", "no dull plot"]
    batch = any_classifier.batch(any_classifier.encode(texts))
    copies = [0, 0, 2, 1, 1, 1, 0]
    sampler = KeyedNoise(Noise(0.7, sites), range(len(copies)))
    shared = logits(any_classifier, batch, sampler=sampler, sites=sites, copies=copies)
    repeated = logits(any_classifier, batch.rows(torch.tensor(copies)), sampler=sampler, sites=sites)
    assert_close(shared, repeated, atol=1e-5, rtol=1e-5)


def test_copies_compute_what_they_share_once(bert: TextModel) -> None:
    rows = []
    block = bert.architecture.blocks[0]
    handle = block.register_forward_hook(lambda module, args, output: rows.append(len(args[0])))
    batch = bert.batch(bert.encode(TEXTS[:2]))
    try:
        result = logits(bert, batch, sites=(1,), copies=[0] * 5 + [1] * 5)
    finally:
        handle.remove()
    assert rows == [2]
    assert result.shape == (10, 3)


def test_hidden_states_are_the_embeddings_and_every_block(any_classifier: TextModel, batch: Batch) -> None:
    with torch.no_grad():
        hidden = any_classifier.forward(batch, hidden_states=True).hidden
    assert len(hidden) == any_classifier.depth + 1
    assert_close(hidden[0], any_classifier.start(batch).detach())
    for state in hidden[1:]:
        assert state.shape == (*batch.ids.shape, 32)
    config = any_classifier.module.config
    reference = plain_call(any_classifier, batch, output_hidden_states=True)
    if config.model_type == "t5":
        # The last of T5's own list has passed the final LayerNorm, which is no part of a block.
        assert_close(hidden[1:-1], reference.encoder_hidden_states[1:-1])
    elif not getattr(config, "conv_kernel_size", 0):
        assert_close(hidden[1:], reference.hidden_states[1:])


def test_without_asking_no_hidden_states_are_kept(bert: TextModel) -> None:
    assert bert.forward(bert.batch(bert.encode(["dull"]))).hidden == ()


def test_no_hook_is_left_behind(any_classifier: TextModel, batch: Batch) -> None:
    before = hooks(any_classifier)
    logits(any_classifier, batch, sites=(0,), copies=[0, 1], hidden_states=True)
    assert hooks(any_classifier) == before


def test_hooks_are_removed_when_the_model_fails(bert: TextModel) -> None:
    before = hooks(bert)
    batch = bert.batch(bert.encode(["dull"]))
    with pytest.raises(ValueError, match="noise keys"):
        logits(bert, batch, sites=(0,), sampler=KeyedNoise(Noise(1.0), [1, 2, 3]))
    assert hooks(bert) == before


def test_the_mask_token_is_known(any_classifier: TextModel) -> None:
    name = any_classifier.tokenizer.convert_ids_to_tokens(any_classifier.mask_token_id)
    assert name in ("[MASK]", "<mask>", "<extra_id_0>")


@pytest.mark.parametrize("groups", [1, 3])
def test_albert_has_a_site_after_each_run_of_its_shared_block(groups: int) -> None:
    albert = tiny_classifier("albert", num_hidden_groups=groups)
    batch = albert.batch(albert.encode(TEXTS[:2]))
    assert albert.depth == 3
    assert len(albert.architecture.blocks) == groups
    noisy = {
        site: logits(albert, batch, sampler=KeyedNoise(Noise(0.5), [1, 2]), sites=(site,))
        for site in range(3)
    }
    assert not torch.allclose(noisy[0], noisy[1], atol=1e-3)
    assert not torch.allclose(noisy[1], noisy[2], atol=1e-3)


def test_features_are_what_the_embedding_layer_gives(any_classifier: TextModel, batch: Batch) -> None:
    own = plain_call(any_classifier, batch, output_hidden_states=True)
    states = getattr(own, "encoder_hidden_states", None) or own.hidden_states
    with torch.no_grad():
        found = any_classifier.forward(batch, hidden_states=True).features
    assert_close(found, states[0])
    assert any_classifier.forward(batch).features is None
