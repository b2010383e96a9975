"""Flooding: the loss and its gradient above and below the level, alone and around other methods."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tiny_training import FULL, begin
from unfooled.defences import Session, Step, make_defence
from unfooled.models import Batch, TensorModel, TextModel

PLAIN = math.log(1 + math.e**-1)
"""Cross-entropy of logits (1, 0) with label 0: 0.3133."""


def session(name: str, model: Any, **settings: Any) -> Session[Any]:
    made = {key.replace("__", "."): value for key, value in settings.items()}
    return begin(make_defence(name, made).resolved(model), model)


def gradients(one: Session[Any], batch: Any, step: Step = FULL) -> tuple[float, dict[str, Tensor]]:
    torch.manual_seed(3)
    one.model.module.zero_grad()
    loss = one.backward(batch, step)
    found = {name: p.grad.clone() for name, p in one.model.module.named_parameters() if p.grad is not None}
    return float(loss), found


@pytest.mark.parametrize(
    ("level", "loss", "sign"),
    [(0.1, PLAIN, 1), (0.3, PLAIN, 1), (0.32, 0.64 - PLAIN, -1), (1.0, 2 - PLAIN, -1), (0.0, PLAIN, 1)],
)
def test_below_the_level_the_gradient_turns_round(level: float, loss: float, sign: int) -> None:
    linear = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        linear.weight.copy_(torch.eye(2))
    model = TensorModel(linear, (2,))
    batch = model.batch(model.read(torch.tensor([[1.0, 0.0]])), [0])
    noted: dict[str, float] = {}
    step = Step(done=1.0, note=lambda name, value: noted.update({name: float(value.detach())}))
    found, gradient = gradients(session("flooding", model, level=level), batch, step)
    assert found == pytest.approx(loss)
    wrong = 1 / (1 + math.e)  # the gradient of the weights is (p − y) xᵀ
    assert_close(gradient["weight"], sign * torch.tensor([[-wrong, 0.0], [wrong, 0.0]]))
    assert noted == {"task_loss": pytest.approx(PLAIN), "flooded": float(sign < 0)}


def test_training_stays_at_the_level() -> None:
    """Two classes that can be told apart: plain training drives the loss to nothing."""
    torch.manual_seed(0)
    inputs = torch.cat([torch.randn(32, 2) + 3, torch.randn(32, 2) - 3])
    labels = [0] * 32 + [1] * 32
    ends = {}
    for name in ("standard", "flooding"):
        model = TensorModel(nn.Linear(2, 2), (2,))
        one = session(name, model, **({"level": 0.2} if name == "flooding" else {}))
        batch = model.batch(model.read(inputs), labels)
        optimiser = torch.optim.SGD(model.module.parameters(), lr=0.02)
        for _ in range(300):
            optimiser.zero_grad()
            one.backward(batch, FULL)
            optimiser.step()
        ends[name] = one.task_loss(model.forward(batch).logits, batch).item()
    assert ends["standard"] < 0.05
    assert ends["flooding"] == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("name", ["noise-augment", "rsmi", "random-mask"])
def test_a_method_with_inputs_of_its_own_is_flooded(name: str, classifier: TextModel, batch: Batch) -> None:
    own, flooded = session(name, classifier), session(f"{name}+flooding", classifier, level=50.0)
    torch.manual_seed(2)
    alone = own.loss(batch, FULL)
    torch.manual_seed(2)
    both = flooded.loss(batch, FULL)
    assert not both.plain
    assert_close(both.task, 100 - alone.task)


def test_terms_of_others_are_not_flooded(classifier: TextModel, batch: Batch) -> None:
    torch.manual_seed(2)
    alone = session("alum", classifier).loss(batch, FULL)
    torch.manual_seed(2)
    both = session("alum+flooding", classifier, level=50.0).loss(batch, FULL)
    assert alone.extra is not None and both.extra is not None
    assert_close(both.task, 100 - alone.task)
    assert_close(both.extra, alone.extra)


@pytest.mark.parametrize(("name", "tasks"), [("freelb", 1), ("freelb+rsmi", 2)])
def test_freelb_is_flooded_in_each_pass_and_climbs_the_loss_itself(
    name: str, tasks: int, classifier: TextModel, batch: Batch
) -> None:
    """Far below the level each pass has the opposite gradient, at the very points that FreeLB visits.

    So has the loss of RSMI, on its masked inputs, which FreeLB does not bring.
    """
    sizes = {"steps": 3, "step_size": 0.2, "init": 0.1}
    loss, alone = gradients(session(name, classifier, **sizes), batch)
    flooded, turned = gradients(session(f"{name}+flooding", classifier, level=50.0, **sizes), batch)
    assert flooded == pytest.approx(100 * tasks - loss, rel=1e-5)
    assert len(turned) > 10 and turned.keys() == alone.keys()
    for weight, gradient in turned.items():
        assert_close(gradient, -alone[weight], atol=1e-6, rtol=1e-4)


def test_a_level_that_guessing_reaches_is_told(classifier: TextModel) -> None:
    """Two labels: guessing costs log 2 = 0.693."""
    (told,) = session("flooding", classifier, level=0.7).warnings()
    assert told.startswith("flooding: a level of 0.7 is not below the cross-entropy of guessing (0.69 for")
    assert session("flooding", classifier, level=0.69).warnings() == []


def test_two_losses_are_flooded_as_one(classifier: TextModel, batch: Batch) -> None:
    """Each below the level, their sum above it: nothing turns round."""
    torch.manual_seed(2)
    alone = session("noise-augment+pgd", classifier).loss(batch, FULL)
    level = 0.75 * alone.task.item()
    torch.manual_seed(2)
    both = session("noise-augment+pgd+flooding", classifier, level=level).loss(batch, FULL)
    assert_close(both.task, alone.task)


def test_a_loss_that_does_not_count_is_not_noted(classifier: TextModel, batch: Batch) -> None:
    """FreeLB brings the task loss; the clean pass that mixup begins with adds its term alone."""
    noted: list[str] = []
    step = Step(done=1.0, note=lambda name, value: noted.append(name))
    one = session("freelb+mixup+flooding", classifier, freelb__steps=2)
    gradients(one, batch, step)
    assert sorted(noted) == ["flooded", "flooded", "mixup_loss", "task_loss", "task_loss"]
