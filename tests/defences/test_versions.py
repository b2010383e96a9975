"""Several versions of each text per step: the loss by hand, and that rows and labels belong together."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tiny_models import TEXTS, tiny_classifier
from tiny_training import FULL, LABELS, begin
from unfooled.defences import make_defence
from unfooled.defences.parts.versions import Versions
from unfooled.errors import UsageError

DEFENCES = ("random-delete", "random-mask")
EVERYTHING: dict[str, dict[str, Any]] = {"random-delete": {"rates": [0.0]}, "random-mask": {"kept": 1000}}
"""Settings under which every version is the whole text."""


def test_the_loss_of_two_versions_by_hand() -> None:
    logits = torch.tensor([[[0.8, 0.2], [0.5, 0.5]], [[0.4, 0.6], [0.5, 0.5]]]).log() + 3.0
    found = Versions(draws=2, consistency=3.0, entropy=0.5).losses(logits, torch.tensor([0, 1]))
    assert float(found.task) == pytest.approx(-(math.log(0.8) + math.log(0.4) + 2 * math.log(0.5)) / 4)
    first = 0.6 * math.log(0.6 / 0.8) + 0.4 * math.log(0.4 / 0.2)
    second = 0.6 * math.log(0.6 / 0.4) + 0.4 * math.log(0.4 / 0.6)
    entropy = -(0.6 * math.log(0.6) + 0.4 * math.log(0.4)) + math.log(2)
    assert found.extra is not None
    assert float(found.extra) == pytest.approx(3.0 * (first + second) / 4 + 0.5 * entropy / 2)


def test_answers_without_doubt_have_finite_losses_and_gradients() -> None:
    logits = torch.tensor([[[400.0, -400.0]], [[-400.0, 400.0]]], requires_grad=True)
    found = Versions(draws=2, consistency=1.0, entropy=1.0).losses(logits, torch.tensor([0]))
    found.total.backward()
    assert found.total.isfinite() and logits.grad is not None and logits.grad.isfinite().all()


@pytest.mark.parametrize("name", DEFENCES)
def test_versions_that_show_everything_are_plain_fine_tuning_without_divergence(name: str) -> None:
    model = tiny_classifier("bert")
    batch = model.batch(model.encode(TEXTS), LABELS)
    settings = EVERYTHING[name] | {"draws": 3, "consistency": 7.0, "entropy": 0.25}
    with torch.no_grad():
        found = begin(make_defence(name, settings).resolved(model), model).loss(batch, FULL)
        logits = model.forward(batch).logits
    probabilities = logits.softmax(dim=-1)
    entropy = -(probabilities * probabilities.log()).sum(dim=-1).mean()
    torch.testing.assert_close(found.task, F.cross_entropy(logits, batch.labels))
    torch.testing.assert_close(found.extra, 0.25 * entropy, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", DEFENCES)
def test_answers_come_back_in_the_order_of_the_rows(name: str) -> None:
    """Long batches are cut into parts of similar length."""
    model = tiny_classifier("bert")
    encoded = model.encode(list(TEXTS) * 12)
    defence = make_defence(name, {"draws": 2}).resolved(model)
    assert isinstance(defence, Versions)
    with torch.no_grad():
        found = defence.answers(model, encoded)
        expected = model.forward(model.batch(encoded)).logits
    torch.testing.assert_close(found.flatten(0, 1), expected)


@pytest.mark.parametrize("name", DEFENCES)
def test_versions_of_a_text_differ_and_diverge(name: str) -> None:
    model = tiny_classifier("bert")
    batch = model.batch(model.encode(TEXTS[2:3]), [0])
    some = {"rates": [0.5]} if name == "random-delete" else {"kept": 0.5}
    defence = make_defence(name, some | {"draws": 8, "consistency": 1.0}).resolved(model)
    with torch.no_grad():
        found = begin(defence, model).loss(batch, FULL)
    assert found.extra is not None and float(found.extra) > 1e-3


@pytest.mark.parametrize("name", DEFENCES)
def test_one_version_has_nothing_to_agree_with(name: str) -> None:
    defence = make_defence(name, {"draws": 1, "consistency": 1.0})
    with pytest.raises(UsageError, match="draws=2 or more"):
        defence.resolved(tiny_classifier("bert"))
