"""The gradient at the embeddings: each row's own, averaged over draws as in RSMI's Eq. 3."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from tiny_models import TEXTS
from unfooled.models import KeyedNoise, Noise, TextModel

DISTINCT = ("a gorgeous witty film", "dull", "the story is very long and never good")
"""Texts in which no token comes twice."""


def test_it_is_the_plain_models_own_gradient_row_by_row(any_classifier: TextModel) -> None:
    """Autograd at the embedding *table* of an unhooked, unpadded call gives the same numbers.

    Where a token occurs once, the gradient at its row of the table is the gradient at its position
    (T5's table feeds encoder and decoder, and so must ours).
    """
    labels = torch.tensor([0, 2, 1])
    encoded = any_classifier.encode(DISTINCT)
    gradient, _ = any_classifier.gradient(any_classifier.batch(encoded), labels)
    weight = any_classifier.architecture.embeddings.weight
    for row, item in enumerate(encoded):
        assert len(set(item.ids)) == len(item)
        alone = any_classifier.batch([item])
        logits = any_classifier.module(input_ids=alone.ids, attention_mask=alone.mask).logits
        (expected,) = torch.autograd.grad(F.cross_entropy(logits, labels[row : row + 1]), weight)
        rounding = 1e-5 * max(1.0, float(expected.abs().max()))  # sums round by their largest terms
        assert_close(gradient[row, : len(item)], expected[list(item.ids)], atol=rounding, rtol=1e-3)
        assert (gradient[row, len(item) :] == 0).all(), "padding has no influence"
        assert gradient[row].abs().max() > 1e-4


def test_no_weight_gradient_is_computed(any_classifier: TextModel) -> None:
    computed: list[str] = []
    handles = [
        parameter.register_hook(lambda gradient, name=name: computed.append(name))
        for name, parameter in any_classifier.module.named_parameters()
    ]
    try:
        any_classifier.gradient(any_classifier.batch(any_classifier.encode(TEXTS[:3])))
    finally:
        for handle in handles:
            handle.remove()
    assert computed == []
    assert all(parameter.grad is None for parameter in any_classifier.module.parameters())


@pytest.mark.parametrize("site", ["embeddings", 0, 2])
def test_draws_are_averaged_inside_the_log(any_classifier: TextModel, site: int | str) -> None:
    draws, noise = 3, Noise(0.8, (site,))
    labels = torch.tensor([1, 0])
    batch = any_classifier.batch(any_classifier.encode(TEXTS[:2]))
    gradient, probabilities = any_classifier.gradient(
        batch, labels, sampler=KeyedNoise(noise, range(6)), sites=noise.sites, draws=draws
    )
    for row in range(2):
        one = batch.rows(torch.tensor([row]))
        embeddings = any_classifier.start(one).detach().requires_grad_(True)
        total = torch.zeros(3)
        for number in range(draws):
            sampler = KeyedNoise(noise, [row * draws + number])
            logits = any_classifier.forward(one, start=embeddings, sampler=sampler, sites=noise.sites).logits
            total = total + logits[0].softmax(dim=-1)
        loss = -torch.log(total[labels[row]] / draws)  # Eq. 3
        (expected,) = torch.autograd.grad(loss, embeddings)
        assert_close(gradient[row], expected[0], atol=1e-5, rtol=1e-3)
        assert_close(probabilities[row], (total / draws).detach(), atol=1e-5, rtol=1e-4)


def test_without_labels_the_models_own_prediction_is_the_label(bert: TextModel) -> None:
    batch = bert.batch(bert.encode(TEXTS[:4]))
    with torch.no_grad():
        predicted = bert.forward(batch).logits.argmax(dim=-1)
    own, probabilities = bert.gradient(batch)
    named, _ = bert.gradient(batch, predicted)
    assert torch.equal(probabilities.argmax(dim=-1), predicted)
    assert_close(own, named)
    other, _ = bert.gradient(batch, (predicted + 1) % 3)
    assert not torch.allclose(own, other, atol=1e-4)


def test_it_works_where_gradients_are_switched_off(bert: TextModel) -> None:
    batch = bert.batch(bert.encode(TEXTS[:2]))
    expected, _ = bert.gradient(batch)
    with torch.no_grad():
        gradient, probabilities = bert.gradient(batch)
    assert_close(gradient, expected)
    assert not gradient.requires_grad
    assert not probabilities.requires_grad
