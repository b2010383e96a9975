"""RSMI's training step, watched from inside: what is masked, what is added to the embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tiny_models import TEXTS, tiny_classifier
from tiny_training import loss_of
from unfooled.defences import Rsmi, Step, make_defence
from unfooled.models import Batch, TextModel

LABELS = [0, 1, 2, 0, 1, 2, 0, 1]


@dataclass
class Pass:
    """One forward pass as the model was asked for it."""

    ids: Tensor
    embeddings: Tensor | None
    sites: tuple[Any, ...]
    scale: float
    training: bool


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[Pass]:
    seen: list[Pass] = []
    forward = TextModel.forward

    def spy(self: TextModel, batch: Batch, **options: Any) -> Any:
        scale = options["sampler"].noise.scale
        seen.append(Pass(batch.ids, options["start"], options["sites"], scale, self.module.training))
        return forward(self, batch, **options)

    monkeypatch.setattr(TextModel, "forward", spy)
    return seen


@pytest.fixture(scope="module")
def classifier() -> TextModel:
    return tiny_classifier("bert")


def rsmi(classifier: TextModel, **settings: Any) -> Rsmi:
    """With noise and masks in full from the first step, unless a warm-up is asked for."""
    resolved = make_defence("rsmi", {"warmup": 0.0, **settings}).resolved(classifier)
    assert isinstance(resolved, Rsmi)
    return resolved


def batch_of(classifier: TextModel, rows: slice = slice(None)) -> Batch:
    return classifier.batch(classifier.encode(TEXTS[rows]), LABELS[rows])


@pytest.mark.parametrize("masked_tokens", [1, 2, 4])
def test_the_tokens_of_the_largest_gradient_are_masked(
    classifier: TextModel, passes: list[Pass], masked_tokens: int
) -> None:
    batch = batch_of(classifier)
    loss_of(rsmi(classifier, sigma=0, masked_tokens=masked_tokens), classifier, batch, Step(done=0.0))
    saliency, training = passes
    assert torch.equal(saliency.ids, batch.ids)
    classifier.module.eval()
    norms = own_gradient(classifier, batch).norm(dim=-1)
    for row in range(len(batch)):
        words = [i for i in range(batch.ids.shape[1]) if batch.maskable[row, i]]
        expected = sorted(words, key=lambda i: -float(norms[row, i]))[:masked_tokens]
        masked = (training.ids[row] == classifier.mask_token_id).nonzero().flatten().tolist()
        assert masked == sorted(expected)
        kept = [i for i in range(batch.ids.shape[1]) if i not in expected]
        assert torch.equal(training.ids[row, kept], batch.ids[row, kept])


def test_a_share_masks_by_length_in_training_as_in_prediction(
    classifier: TextModel, passes: list[Pass]
) -> None:
    batch = batch_of(classifier)
    defence = rsmi(classifier, sigma=0, masked_tokens=2, masked_share=0.2)
    loss_of(defence, classifier, batch, Step(done=0.0))
    words = batch.maskable.sum(dim=1).tolist()
    masked = (passes[-1].ids == classifier.mask_token_id).sum(dim=1).tolist()
    assert masked == [min(2, int(0.2 * count + 0.5)) for count in words]
    assert len(set(masked)) > 1
    classifier.module.eval()
    predictor = defence.predictor(classifier)
    decisions = predictor.decide(classifier, classifier.encode(TEXTS))
    assert [len(decision.masked) for decision in decisions] == masked


def own_gradient(classifier: TextModel, batch: Batch) -> Tensor:
    """Each row's gradient from a plain call of the model, dropout off."""
    rows = []
    for row in range(len(batch)):
        embeddings = classifier.embed(batch.ids[row : row + 1]).detach().requires_grad_(True)
        logits = classifier.module(
            inputs_embeds=embeddings,
            attention_mask=batch.mask[row : row + 1],
            token_type_ids=batch.type_ids[row : row + 1],
        ).logits
        assert batch.labels is not None
        loss = torch.nn.functional.cross_entropy(logits, batch.labels[row : row + 1])
        rows.append(torch.autograd.grad(loss, embeddings)[0])
    return torch.cat(rows)


@pytest.mark.parametrize("rows", [slice(2, 3), slice(0, 4), slice(0, 8)], ids=["one", "four", "eight"])
def test_the_embedding_step_does_not_depend_on_the_batch_size(
    classifier: TextModel, passes: list[Pass], rows: slice
) -> None:
    """The training pass starts from embed(masked ids) + step · (the row's own gradient)."""
    batch = batch_of(classifier, rows)
    loss_of(rsmi(classifier, sigma=0, embedding_step=0.5), classifier, batch, Step(done=0.0))
    training = passes[1]
    assert training.embeddings is not None
    moved = (training.embeddings - classifier.embed(training.ids)).detach()
    classifier.module.eval()
    assert_close(moved, 0.5 * own_gradient(classifier, batch), atol=1e-6, rtol=1e-3)
    assert moved.abs().max() > 1e-3


def test_dropout_is_off_in_the_saliency_pass_and_on_in_the_training_pass(
    classifier: TextModel, passes: list[Pass]
) -> None:
    classifier.module.train()
    loss_of(rsmi(classifier), classifier, batch_of(classifier), Step(done=0.0))
    assert [one.training for one in passes] == [False, True]
    assert classifier.module.training


def test_both_passes_are_noisy(classifier: TextModel, passes: list[Pass]) -> None:
    loss_of(
        rsmi(classifier, sigma=0.3, noise_layers=[0, 2]), classifier, batch_of(classifier), Step(done=0.0)
    )
    assert [(one.scale, one.sites) for one in passes] == [(0.3, (0, 2)), (0.3, (0, 2))]


def test_texts_shorter_than_m_mask_what_they_can(classifier: TextModel, passes: list[Pass]) -> None:
    batch = batch_of(classifier)
    loss = loss_of(rsmi(classifier, masked_tokens=6, candidates=6), classifier, batch, Step(done=0.0))
    masked = passes[1].ids == classifier.mask_token_id
    assert not (masked & ~batch.maskable).any()
    assert masked.sum(dim=1).tolist() == batch.maskable.sum(dim=1).clamp(max=6).tolist()
    assert int(masked[1].sum()) == 1, "«dull» has one word"
    assert loss.isfinite()


@pytest.mark.parametrize(
    ("done", "scale", "masked"), [(0.0, 0.0, 0), (0.1, 0.1, 1), (0.2, 0.2, 2), (0.4, 0.4, 4), (0.9, 0.4, 4)]
)
def test_noise_and_masks_rise_over_the_warmup(
    classifier: TextModel, passes: list[Pass], done: float, scale: float, masked: int
) -> None:
    settings = {"sigma": 0.4, "masked_tokens": 4, "warmup": 0.4}
    loss_of(rsmi(classifier, **settings), classifier, batch_of(classifier, slice(2, 4)), Step(done=done))
    assert passes[1].scale == pytest.approx(scale)
    assert (passes[1].ids == classifier.mask_token_id).sum(dim=1).tolist() == [masked, masked]


def test_without_warmup_noise_and_masks_are_there_from_the_start(
    classifier: TextModel, passes: list[Pass]
) -> None:
    loss_of(
        rsmi(classifier, sigma=0.4, masked_tokens=2),
        classifier,
        batch_of(classifier, slice(2, 4)),
        Step(done=0.0),
    )
    assert passes[1].scale == 0.4
    assert (passes[1].ids == classifier.mask_token_id).sum(dim=1).tolist() == [2, 2]


def test_the_saliency_pass_leaves_no_weight_gradients(classifier: TextModel) -> None:
    loss_of(rsmi(classifier), classifier, batch_of(classifier), Step(done=0.0))
    assert all(parameter.grad is None for parameter in classifier.module.parameters())


def test_the_input_batch_is_not_changed(classifier: TextModel) -> None:
    batch = batch_of(classifier)
    before = batch.ids.clone()
    loss_of(rsmi(classifier, masked_tokens=3), classifier, batch, Step(done=0.0))
    assert torch.equal(batch.ids, before)
