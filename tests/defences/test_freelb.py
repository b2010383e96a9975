"""FreeLB, watched from inside: where its passes are, what they add, and what its companions see."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import TrainingArguments

from tiny_models import TEXTS, tiny_classifier
from tiny_training import FULL, LABELS, begin
from toy_defence import Toy
from unfooled.defences import DEFENCES, FreeLB, Pass, Session, Step, TrainingData, make_defence
from unfooled.errors import UsageError
from unfooled.hub.schedules import make_schedule
from unfooled.models import Batch, TensorModel, TextModel, new_image_model
from unfooled.models.ascent import SameDraws
from unfooled.training.trainer import SessionTrainer


@pytest.fixture
def starts(classifier: TextModel, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """What every pass began with."""
    found: list[Tensor] = []

    def spy(*args: Any, **kwargs: Any) -> Any:
        found.append(kwargs["start"].detach().clone())
        return TextModel.forward(classifier, *args, **kwargs)

    monkeypatch.setattr(classifier, "forward", spy)
    return found


def session(model: Any, **settings: Any) -> Session[Any]:
    return begin(make_defence("freelb", settings).resolved(model), model)


def norms(delta: Tensor) -> Tensor:
    return delta.flatten(1).norm(dim=1)


def test_two_passes_of_a_linear_model_by_hand() -> None:
    """Logits are x itself. x = (1, 0) has label 0.

    First pass, δ = 0: p = softmax(1, 0), so the gradient p − (1, 0) is along (−1, 1)/√2. A step of √½ leads
    to δ = (−½, ½), where x + δ = (½, ½), p = (½, ½) and the loss is ln 2. Each pass counts half.
    """
    linear = nn.Linear(2, 2, bias=False)
    model = TensorModel(linear, (2,))
    with torch.no_grad():
        linear.weight.copy_(torch.eye(2))
    batch = model.batch(model.read(torch.tensor([[1.0, 0.0]])), [0])
    loss = session(model, steps=2, step_size=math.sqrt(0.5), init=0).backward(batch, FULL)
    first = 1 / (1 + math.e)  # the probability of the wrong class
    assert float(loss) == pytest.approx((-math.log(1 - first) + math.log(2)) / 2)
    # The gradient of the weights is (p − y) xᵀ.
    expected = 0.5 * torch.tensor([[-first - 0.25, -0.25], [first + 0.25, 0.25]])
    assert_close(linear.weight.grad, expected)


def test_k_passes_make_k_minus_1_ascents_of_the_step_size_within_the_radius(
    classifier: TextModel, batch: Batch, starts: list[Tensor]
) -> None:
    session(classifier, steps=3, step_size=0.2, init=0.1).backward(batch, FULL)
    clean = classifier.start(batch).detach()
    deltas = [start - clean for start in starts]
    assert len(deltas) == 3
    assert (norms(deltas[0]) < 0.1).all() and (norms(deltas[0]) > 0.05).all()
    for before, after in pairwise(deltas):
        assert_close(norms(after - before), torch.full((len(batch),), 0.2), atol=1e-4, rtol=0)
    starts.clear()
    session(classifier, steps=4, step_size=0.2, init=0.5, radius=0.25).backward(batch, FULL)
    sizes = torch.stack([norms(start - clean) for start in starts])
    assert (sizes < 0.25 + 1e-5).all()
    assert_close(sizes[-1], torch.full((len(batch),), 0.25), atol=1e-4, rtol=0)
    starts.clear()
    session(classifier, steps=1, init=0.1, radius=0.25).backward(batch, FULL)
    assert (norms(starts[0] - clean) < 0.1).all(), "what is within the ball is left alone"


@pytest.mark.parametrize(("done", "share"), [(0.0, 0.0), (0.125, 0.5), (0.25, 1.0), (0.9, 1.0)])
def test_perturbations_grow_over_the_warmup(
    classifier: TextModel, batch: Batch, starts: list[Tensor], done: float, share: float
) -> None:
    step = replace(FULL, done=done)
    session(classifier, steps=2, step_size=0.2, init=0.1, warmup=0.25).backward(batch, step)
    clean = classifier.start(batch).detach()
    first, second = (start - clean for start in starts)
    assert_close(norms(second - first), torch.full((len(batch),), 0.2 * share), atol=1e-4, rtol=0)
    assert (norms(first) <= 0.1 * share).all() and (norms(first) >= 0.05 * share).all()


@pytest.mark.parametrize("name", ["freelb", "infobert+freelb"])
def test_epochs_of_growing_perturbations_are_not_kept(name: str, classifier: TextModel) -> None:
    own = make_defence(name, {"warmup" if name == "freelb" else "freelb.warmup": 0.7}).resolved(classifier)
    assert begin(own, classifier).whole_from == 0.7


def test_each_ascent_raises_the_loss_of_every_example(
    classifier: TextModel, batch: Batch, starts: list[Tensor]
) -> None:
    session(classifier, steps=3, step_size=0.02, init=0.1).backward(batch, FULL)
    losses = [
        nn.functional.cross_entropy(
            classifier.forward(batch, start=start).logits, batch.labels, reduction="none"
        )
        for start in list(starts)
    ]
    assert (losses[1] > losses[0]).all() and (losses[2] > losses[1]).all()


def test_pixels_stay_between_0_and_1(monkeypatch: pytest.MonkeyPatch) -> None:
    model = new_image_model("small-cnn:width=4", (1, 8, 8), 3)
    pixels = torch.rand(4, 1, 8, 8).round()  # black or white: every second step would leave
    batch = model.batch(model.read(pixels), [0, 1, 2, 0])
    seen: list[Tensor] = []
    forward = type(model).forward

    def watched(self: Any, batch: Any, *, start: Tensor | None = None, **more: Any) -> Any:
        seen.extend([] if start is None else [start.detach().clone()])
        return forward(self, batch, start=start, **more)

    monkeypatch.setattr(type(model), "forward", watched)
    session(model, steps=3, step_size=1.0, init=1.0).backward(batch, FULL)
    assert len(seen) == 3 and not torch.equal(seen[0], pixels) and not torch.equal(seen[1], seen[2])
    assert all(one.min() >= 0 and one.max() <= 1 for one in seen)


def test_padding_is_never_perturbed_special_tokens_are(
    classifier: TextModel, batch: Batch, starts: list[Tensor]
) -> None:
    session(classifier, steps=2, step_size=0.1, init=0.1).backward(batch, FULL)
    padding = batch.mask == 0
    assert padding.any()
    for start in starts:
        delta = start - classifier.start(batch).detach()
        assert (delta[padding] == 0).all()
        assert (delta[~padding] != 0).any(dim=-1).all()


def test_the_first_perturbation_is_uniform_in_a_cube_of_the_rows_own_size(
    classifier: TextModel, starts: list[Tensor]
) -> None:
    batch = classifier.batch(classifier.encode([TEXTS[2], "dull"] * 40), [0, 1] * 40)
    session(classifier, steps=1, init=0.5).backward(batch, FULL)
    delta = starts[0] - classifier.start(batch).detach()
    for row in (0, 1):
        length = int(batch.mask[row].sum())
        values = delta[row::2, :length].flatten()
        side = 0.5 / math.sqrt(length * 32)
        assert float(values.abs().max()) == pytest.approx(side, rel=0.01)
        assert float(values.std()) == pytest.approx(side / math.sqrt(3), rel=0.05)


@pytest.fixture
def dropping(classifier: TextModel) -> Any:
    classifier.module.train()
    yield classifier
    classifier.module.eval()


def test_one_dropout_mask_within_a_batch_and_randomness_goes_on(dropping: TextModel, batch: Batch) -> None:
    passes: list[Tensor] = []

    def accumulate(compute: Any) -> Tensor:
        loss = compute()
        loss.backward()
        passes.append(loss.detach())
        return passes[-1]

    step = Step(done=1.0, accumulate=accumulate)
    torch.manual_seed(5)
    session(dropping, steps=3, radius=0).backward(batch, step)
    after = torch.rand(1)
    assert passes[0] == passes[1] == passes[2]
    torch.manual_seed(5)
    begin(make_defence("standard"), dropping).backward(batch, step)
    assert_close(3 * passes[0], passes[3])
    assert torch.rand(1) == after, "as after one pass"
    session(dropping, steps=1, radius=0).backward(batch, step)
    assert passes[4] != passes[3], "the next batch has another mask"


@pytest.mark.full
def test_one_pass_and_no_radius_is_plain_training_to_the_bit(tmp_path: Path) -> None:
    ends = []
    for name, settings in (("standard", {}), ("freelb", {"steps": 1, "radius": 0})):
        model = tiny_classifier("bert", num_hidden_layers=1)
        torch.manual_seed(0)
        arguments = TrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=2,
            learning_rate=1e-2,
            per_device_train_batch_size=4,
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            save_strategy="no",
        )
        data = TrainingData(model.encode(TEXTS), LABELS)
        one = begin(make_defence(name, settings).resolved(model), model, data)
        before = model.embedding_table().copy()
        SessionTrainer(
            one, metric="accuracy", dev_score=lambda: 0.0, schedule=make_schedule("linear"), args=arguments
        ).train()
        assert (model.embedding_table() != before).any()
        ends.append(model.module.state_dict())
    assert all(torch.equal(value, ends[1][name]) for name, value in ends[0].items())


class _Companion(Session[Toy]):
    """A penalty that the adversary raises, and a term, far larger, that it must not."""

    in_every_pass = True
    with_terms = True

    def penalty(self, seen: Pass, step: Step) -> Tensor:
        return 3 * seen.start.square().sum()

    def terms(self, seen: Pass, step: Step) -> Tensor | None:
        return -1e3 * seen.start.square().sum() if self.with_terms else None


@pytest.mark.parametrize("with_terms", [True, False])
def test_delta_climbs_task_and_penalties_but_not_the_terms_of_companions(
    with_terms: bool, classifier: TextModel, batch: Batch, starts: list[Tensor], monkeypatch: Any
) -> None:
    monkeypatch.setattr(_Companion, "with_terms", with_terms)
    monkeypatch.setattr(Toy, "begin", lambda own, training: _Companion(training, own))
    monkeypatch.setitem(DEFENCES, "toy", Toy)
    if not with_terms:
        monkeypatch.setattr(Pass, "gradient", property(lambda self: pytest.fail("the pass has it already")))
    settings = {"freelb.step_size": 0.1, "freelb.init": 0.0}
    one = begin(make_defence("freelb+toy", settings).resolved(classifier), classifier)
    classifier.module.zero_grad()
    one.backward(batch, FULL)
    table = classifier.architecture.embeddings.weight
    got = table.grad.clone()
    first, second = starts
    start = classifier.start(batch).detach().requires_grad_()
    own = nn.functional.cross_entropy(TextModel.forward(classifier, batch, start=start).logits, batch.labels)
    (gradient,) = torch.autograd.grad(own + 3 * start.square().sum(), start)
    gradient = gradient * batch.mask.unsqueeze(-1)
    assert_close(second - first, 0.1 * gradient / norms(gradient).view(-1, 1, 1), atol=1e-5, rtol=1e-3)
    # Both passes add task, penalty and term, each by K = 2.
    classifier.module.zero_grad()
    for delta in (0, second - first):
        start = classifier.start(batch) + delta
        own = nn.functional.cross_entropy(
            TextModel.forward(classifier, batch, start=start).logits, batch.labels
        )
        ((own + (3 - 1e3 * with_terms) * start.square().sum()) / 2).backward()
    assert_close(got, table.grad, rtol=1e-3, atol=1e-3)


def test_draws_of_companions_go_on_from_pass_to_pass() -> None:
    draws, once = SameDraws(torch.device("cpu")), []
    for _ in range(2):
        with draws():
            once.append(torch.rand(1))
        once.append(torch.rand(1))
    assert once[0] == once[2]
    assert len({float(one) for one in once}) == 3


def test_an_example_without_a_gradient_stays_where_it_is() -> None:
    """A constant function: the direction of a zero gradient is no direction, and not NaN."""
    linear = nn.Linear(2, 2)
    with torch.no_grad():
        linear.weight.zero_()
    model = TensorModel(linear, (2,))
    batch = model.batch(model.read(torch.ones(1, 2)), [0])
    assert session(model, steps=3, step_size=1.0, init=0.1).backward(batch, FULL).isfinite()
    assert linear.weight.grad is not None and linear.weight.grad.isfinite().all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"steps": 1.5}, "steps must be a whole number"),
        ({"step_size": -1}, "step_size must be at least 0"),
        ({"init": -1}, "init must be at least 0"),
        ({"radius": -0.1}, "radius must be at least 0"),
        ({"radius": "nan"}, "radius must be a finite number"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_defence("freelb", settings)


def test_defaults_are_the_authors_on_the_scale_of_the_encoder(classifier: TextModel) -> None:
    defence = make_defence("freelb").resolved(classifier)
    assert isinstance(defence, FreeLB)
    # Random words of the tiny encoder are 2 apart; those of the shipped one 1.5, and 0.1 is the authors'.
    assert defence.step_size == defence.init == pytest.approx(0.13, rel=0.05)
    assert (defence.steps, defence.radius) == (2, None)
