"""Certified RSMI's training step: the same two looks and the same mask as the predictor's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tiny_models import TEXTS
from tiny_training import FULL, LABELS, loss_of
from unfooled.defences import CertifiedRsmi, Step, make_defence
from unfooled.models import Batch, TextModel
from unfooled.predictors import CertifiedMasked
from unfooled.predictors.smoothing import DECIDE


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, bool]]:
    """The embeddings of every pass that was given some, and whether dropout was on."""
    seen: list[tuple[Tensor, bool]] = []
    forward = TextModel.forward

    def spy(self: TextModel, batch: Batch, **options: Any) -> Any:
        seen.append((options["start"].detach().clone(), self.module.training))
        return forward(self, batch, **options)

    monkeypatch.setattr(TextModel, "forward", spy)
    return seen


def resolved(classifier: TextModel, **settings: Any) -> CertifiedRsmi:
    made = make_defence("certified-rsmi", settings).resolved(classifier)
    assert isinstance(made, CertifiedRsmi)
    return made


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sigma_1": 1.0, "masked_tokens": 3},
        {"masked_tokens": 0},
        {"masked_tokens": 2, "threat": "each-word"},
    ],
    ids=str,
)
def test_training_input_is_the_predictors_for_the_same_draws(
    classifier: TextModel,
    entered: list[tuple[Tensor, bool]],
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
) -> None:
    defence = resolved(classifier, sigma=0.6, **settings)
    predictor = defence.predictor(classifier)
    assert isinstance(predictor, CertifiedMasked)
    encoded = classifier.encode(TEXTS)
    batch = classifier.batch(encoded, LABELS)
    noise = torch.randn(len(batch), 2, *classifier.start(batch).shape[1:])
    monkeypatch.setattr(torch, "randn", lambda *_, **__: noise.clone())
    classifier.module.train()
    loss_of(defence, classifier, batch, FULL)
    classifier.module.eval()
    trained = entered.pop()[0]
    entered.clear()
    for row, item in enumerate(encoded):  # the predictor never pads: one text at a time
        length = len(item)
        one = classifier.batch([item])
        sampler = predictor.sampler(classifier, [item], seed=0, purpose=DECIDE)
        shown = sampler.noisy(one, classifier.start(one).detach(), noise[row : row + 1, :, :length].clone())
        sampler.run(one, shown, [0])
        assert_close(trained[row, :length], entered.pop()[0][0], atol=1e-5, rtol=1e-4)
    mask = classifier.embed(torch.tensor([[classifier.mask_token_id]]))[0, 0]
    masked = (trained == mask).all(dim=-1).sum(dim=1)
    words = batch.maskable.sum(dim=1)
    assert masked.tolist() == words.clamp(max=predictor.masked_tokens).tolist()


def test_the_average_of_the_looks_is_not_noised_at_padding(classifier: TextModel, batch: Batch) -> None:
    defence = resolved(classifier, sigma=0.6, masked_tokens=0)
    moved = (defence.looks(classifier, batch, 1.0) - classifier.start(batch)).detach()
    padding = batch.mask == 0
    assert moved[padding].abs().max() < 1e-6
    assert float(moved[~padding].std()) == pytest.approx(0.6, rel=0.05)
    quarter = (defence.looks(classifier, batch, 0.25) - classifier.start(batch)).detach()
    assert float(quarter[~padding].std()) == pytest.approx(0.15, rel=0.05)


def test_the_mask_is_measured_without_dropout_and_training_goes_on_with_it(
    classifier: TextModel, batch: Batch, entered: list[tuple[Tensor, bool]]
) -> None:
    defence = resolved(classifier)
    classifier.module.train()
    loss_of(defence, classifier, batch, FULL)
    assert [training for _, training in entered] == [False, True]
    assert classifier.module.training
    classifier.module.eval()
    loss_of(defence, classifier, batch, FULL)
    assert not classifier.module.training
    assert all(parameter.grad is None for parameter in classifier.module.parameters())


def test_the_gradient_reaches_the_embeddings_of_the_words_that_are_shown(
    classifier: TextModel, batch: Batch
) -> None:
    loss = loss_of(resolved(classifier, masked_tokens=0), classifier, batch, FULL)
    (gradient,) = torch.autograd.grad(loss, classifier.architecture.embeddings.weight)
    real = batch.ids[batch.mask == 1].unique()
    assert (gradient[real].norm(dim=-1) > 0).all()


@pytest.mark.parametrize(("done", "masked"), [(0.0, 0), (0.1, 1), (0.2, 2), (0.4, 4), (0.9, 4)])
def test_masks_rise_over_the_warmup(classifier: TextModel, done: float, masked: int) -> None:
    defence = resolved(classifier, masked_tokens=4, warmup=0.4)
    seen: list[float] = []
    looks = CertifiedRsmi.looks

    class Spy(CertifiedRsmi):
        def looks(self, classifier: TextModel, batch: Batch, share: float) -> Tensor:
            seen.append(share)
            return looks(self, classifier, batch, share)

    batch = classifier.batch(classifier.encode([TEXTS[2]]), [0])
    spied = Spy(**vars(defence))
    loss_of(spied, classifier, batch, Step(done=done))
    mask = classifier.embed(torch.tensor([[classifier.mask_token_id]]))[0, 0]
    average = looks(spied, classifier, batch, seen[0])
    assert int((average == mask).all(dim=-1).sum()) == masked
