"""SMART, ALUM and TRADES: each loss and its gradient by hand, and how the adversary is made."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tiny_models import FAMILIES, TEXTS, tiny_classifier
from tiny_training import FULL, begin
from unfooled.defences import DEFENCES, Session, make_defence
from unfooled.defences.parts import virtual as virtual_adversary
from unfooled.errors import UsageError
from unfooled.models import Batch, TensorModel, TextModel

VIRTUAL = ("smart", "alum", "trades")
X, MOVED = torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])
"""The input, of label 0, and where its adversary ends."""
P, Q = torch.tensor([math.e, 1.0]) / (math.e + 1), torch.tensor([0.5, 0.5])
"""The answers there, softmax(X) and softmax(MOVED)."""


def session(name: str, model: Any, **settings: Any) -> Session[Any]:
    return begin(make_defence(name, settings).resolved(model), model)


def kl(first: Tensor, second: Tensor) -> Tensor:
    return (first * (first / second).log()).sum()


def kl_gradient(first: Tensor, second: Tensor) -> Tensor:
    """Of KL(first ‖ second) by the logits of ``first``: p_i·(ln(p_i / q_i) − KL)."""
    return first * ((first / second).log() - kl(first, second))


@pytest.fixture
def linear(monkeypatch: pytest.MonkeyPatch) -> TensorModel:
    """Logits are the input itself, and the noise that an ascent begins with is (−0.1, 0.1).

    There the answer to label 0 is below that to X, so every divergence rises along (−1, 1). A step of 0.4 by
    the largest coordinate, or by signs, leads to δ = (−0.5, 0.5): to MOVED.
    """
    layer = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(2))
    noise = torch.tensor([[-0.1, 0.1]])
    monkeypatch.setattr(virtual_adversary, "from_normal", lambda start, batch, size: noise.clone())
    return TensorModel(layer, (2,))


def step(one: Session[Any], model: TensorModel) -> tuple[float, Tensor]:
    """The loss of a step for X, and the gradient of the weights."""
    model.module.zero_grad()
    loss = one.backward(model.batch(model.read(X[None]), [0]), FULL)
    return float(loss), model.module.weight.grad.clone()


CE, CE_GRADIENT = -P[0].log(), torch.outer(P - torch.tensor([1.0, 0.0]), X)
"""Plain fine-tuning: −ln p_0, and (p − y) xᵀ."""


def drawn_together(weight: float) -> tuple[Tensor, Tensor]:
    """KL(P ‖ Q) draws the moved answer to the clean one, q − p there; KL(Q ‖ P) the other way round."""
    loss = weight * (kl(P, Q) + kl(Q, P))
    return loss, weight * (torch.outer(Q - P, MOVED) + torch.outer(P - Q, X))


def test_alum_is_cross_entropy_and_symmetric_kl_with_constant_targets(linear: TensorModel) -> None:
    loss, gradient = step(session("alum", linear, weight=3, step_size=0.4, init=1), linear)
    added, added_gradient = drawn_together(3)
    assert loss == pytest.approx(float(CE + added))
    assert_close(gradient, CE_GRADIENT + added_gradient)


def test_the_teacher_of_smart_answers_without_dropout() -> None:
    """Beside a model in evaluation mode that has its weights, it is at no distance at all."""
    torch.manual_seed(0)
    model = TensorModel(nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 2)), (2,))
    model.module.train()
    one = session("smart", model, weight=0, proximal=2, step_size=0.1, init=0.1)
    model.module.eval()
    batch = model.batch(model.read(torch.eye(2)), [0, 1])
    for _ in range(5):
        extra = one.loss(batch, FULL).extra
        assert extra is not None and extra.item() == pytest.approx(0, abs=1e-9)


def test_smart_adds_the_distance_from_the_mean_teacher(linear: TensorModel) -> None:
    one = session("smart", linear, weight=3, proximal=2, momentum=0.75, step_size=0.4, init=1)
    one.load_state_dict({"teacher": {"weight": torch.zeros(2, 2)}})
    loss, gradient = step(one, linear)
    added, added_gradient = drawn_together(3)
    # The teacher's weights are 0.75·0 + 0.25·1 now, so its logits are X / 4.
    earlier = torch.softmax(X / 4, dim=0)
    added = added + 2 * (kl(P, earlier) + kl(earlier, P))
    added_gradient = added_gradient + 2 * torch.outer(kl_gradient(P, earlier) + P - earlier, X)
    assert loss == pytest.approx(float(CE + added))
    assert_close(gradient, CE_GRADIENT + added_gradient)
    assert_close(one.state_dict()["teacher"]["weight"], torch.eye(2) / 4)  # type: ignore[index]
    assert not (one.modules or session("smart", linear, proximal=0, step_size=0.4, init=1).state_dict())


@pytest.mark.parametrize(("norm", "step_size"), [("linf", 0.4), ("l2", 0.4 * math.sqrt(2))])
def test_trades_is_cross_entropy_and_kl_with_the_gradient_through_both(
    linear: TensorModel, norm: str, step_size: float
) -> None:
    sizes = {"step_size": step_size, "init": 1, "radius": 1, "steps": 1}
    loss, gradient = step(session("trades", linear, weight=3, norm=norm, **sizes), linear)
    assert loss == pytest.approx(float(CE + 3 * kl(P, Q)))
    through_both = torch.outer(kl_gradient(P, Q), X) + torch.outer(Q - P, MOVED)
    assert_close(gradient, CE_GRADIENT + 3 * through_both)


@pytest.mark.parametrize("name", VIRTUAL)
def test_the_adversary_climbs_its_own_divergence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three classes, where each divergence of P and Q = softmax(x + noise) has its own direction.

    By the logits of Q, KL(P ‖ Q) has the gradient q − p, and KL(Q ‖ P) q·(ln(q / p) − KL(Q ‖ P)).
    """
    layer = nn.Linear(3, 3, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(3))
    model = TensorModel(layer, (3,))
    x, noise = torch.tensor([[2.0, 0.0, -1.0]]), torch.tensor([[-3.0, 0.0, 2.0]])
    found: list[Tensor] = []
    own = virtual_adversary.climb
    monkeypatch.setattr(virtual_adversary, "climb", lambda *args: found.append(own(*args)) or found[-1])
    monkeypatch.setattr(virtual_adversary, "from_normal", lambda start, batch, size: noise.clone())
    sizes = {"norm": "l2", "radius": 9, "steps": 1} if name == "trades" else {}
    one = session(name, model, step_size=0.1, init=1, **sizes)
    one.terms(one.look(model.batch(model.read(x), [0])), FULL)
    p, q = torch.softmax(x, dim=1), torch.softmax(x + noise, dim=1)
    forward, backward = q - p, q * ((q / p).log() - kl(q, p))
    assert abs(nn.functional.cosine_similarity(forward, backward).item()) < 0.9
    gradient = forward + backward if name == "smart" else forward
    length = gradient.norm() if name == "trades" else gradient.abs().max()
    assert_close(found[0], noise + 0.1 * gradient / length)


@pytest.mark.parametrize("name", VIRTUAL)
def test_the_word_embeddings_learn_from_both_answers(
    name: str, classifier: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradient of the embedding table is that of both passes, each from the table itself."""
    found: list[Tensor] = []
    own = virtual_adversary.climb
    monkeypatch.setattr(virtual_adversary, "climb", lambda *args: found.append(own(*args)) or found[-1])
    table = classifier.architecture.embeddings.weight
    classifier.module.zero_grad()
    one = session(name, classifier, weight=3, **({"proximal": 0} if name == "smart" else {}))
    one.backward(batch, FULL)
    got, delta = table.grad.clone(), found[0].detach()
    classifier.module.zero_grad()
    clean, moved = (classifier.forward(batch, start=classifier.start(batch) + d).logits for d in (0, delta))
    p, q = clean.log_softmax(-1), moved.log_softmax(-1)

    def divergence(first: Tensor, second: Tensor) -> Tensor:
        return (first.exp() * (first - second)).sum() / len(batch)

    both = divergence(p.detach(), q) + divergence(q.detach(), p)
    term = divergence(p, q) if name == "trades" else both
    (nn.functional.cross_entropy(clean, batch.labels) + 3 * term).backward()
    assert_close(got, table.grad, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize(("name", "norm"), [("trades", "linf"), ("trades", "l2"), ("smart", None)])
def test_the_adversary_stays_in_its_ball(linear: TensorModel, name: str, norm: str | None) -> None:
    sizes: dict[str, Any] = {"step_size": 0.4, "init": 1, "radius": 0.2, "steps": 3}
    one = session(name, linear, **sizes, **({} if norm is None else {"norm": norm}))
    loss, _ = step(one, linear)
    side = 0.2 / math.sqrt(2) if norm == "l2" else 0.2
    moved = torch.softmax(X + torch.tensor([-side, side]), dim=0)
    expected = kl(P, moved) + (0 if name == "trades" else kl(moved, P))
    assert loss == pytest.approx(float(CE + expected))


@pytest.mark.parametrize("name", VIRTUAL)
def test_passes_of_a_step(
    name: str, classifier: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which passes there are, whether with dropout, and that padding is as it was in all of them."""
    passes: list[bool] = []
    clean = classifier.start(batch).detach()
    padding = batch.mask == 0

    def spy(*args: Any, **kwargs: Any) -> Any:
        passes.append(classifier.module.training)
        assert torch.equal(kwargs["start"].detach()[padding], clean[padding])
        return TextModel.forward(classifier, *args, **kwargs)

    one = session(name, classifier)
    monkeypatch.setattr(classifier, "forward", spy)
    classifier.module.train()
    classifier.module.zero_grad()
    seen = one.look(batch)
    assert one.terms(seen, FULL) is not None
    assert all(weight.grad is None for weight in classifier.module.parameters()), "no weight gradients"
    assert classifier.module.training
    classifier.module.eval()
    # Clean; ascents (with TRADES in evaluation mode, which needs the clean answer in that mode); adversary.
    assert passes == [True, *([False] * 4 if name == "trades" else [True]), True]


@pytest.mark.parametrize("name", VIRTUAL)
def test_the_adversary_differs_more_than_noise_of_its_size(
    name: str, classifier: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Tensor] = []
    own = virtual_adversary.climb
    monkeypatch.setattr(virtual_adversary, "climb", lambda *args: found.append(own(*args)) or found[-1])
    torch.manual_seed(0)
    one = session(name, classifier)
    one.terms(one.look(batch), FULL)
    delta = found[0]
    noise = torch.randn_like(delta) * batch.mask.unsqueeze(-1)
    noise = noise * (delta.flatten(1).norm(dim=1) / noise.flatten(1).norm(dim=1)).view(-1, 1, 1)
    start = classifier.start(batch)
    answers = [classifier.forward(batch, start=start + d).logits.log_softmax(-1) for d in (0, delta, noise)]
    far, near = (((answers[0] - one).exp().log() * answers[0].exp()).sum(-1) for one in answers[1:])
    assert (far > 3 * near).all()


@pytest.mark.parametrize("name", VIRTUAL)
def test_without_weight_it_is_plain_fine_tuning(name: str, classifier: TextModel, batch: Batch) -> None:
    own = {"weight": 0, **({"proximal": 0} if name == "smart" else {})}
    losses = [session(one, classifier, **s).loss(batch, FULL) for one, s in ((name, own), ("standard", {}))]
    assert losses[0].extra is None
    assert torch.equal(losses[0].total, losses[1].total)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_pairs_and_bfloat16(family: str) -> None:
    model = (
        tiny_classifier(family, labels=2, num_layers=2)
        if family == "t5"
        else tiny_classifier(family, labels=2)
    )
    model.bf16 = True
    model.module.train()
    batch = model.batch(model.encode(TEXTS[:4], TEXTS[4:]), [0, 1, 0, 1])
    for name in ("freelb", *VIRTUAL):
        model.module.zero_grad()
        assert session(name, model).backward(batch, FULL).isfinite()
        for weight in (model.architecture.embeddings.weight, next(model.architecture.blocks[0].parameters())):
            assert weight.grad is not None and weight.grad.isfinite().all() and weight.grad.any()


@pytest.mark.parametrize("name", ["freelb+smart", "trades+alum+smart", "noise-augment+alum"])
def test_combinations_add_their_terms(
    name: str, classifier: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same noise whenever it is drawn: what each part adds is what it adds alone."""
    noise = 0.1 * torch.randn(classifier.start(batch).shape, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(virtual_adversary, "from_normal", lambda *_: noise * batch.mask.unsqueeze(-1))

    def loss(one: str) -> float:
        torch.manual_seed(1)
        return float(session(one, classifier).backward(batch, FULL))

    plain, parts = loss("standard"), name.split("+")
    added = [loss(part) - plain for part in parts]
    assert all(abs(one) > 1e-3 for one in added)
    assert loss(name) == pytest.approx(plain + sum(added), rel=1e-4)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("smart", {"weight": -1}, "weight must be at least 0"),
        ("smart", {"momentum": 1.1}, "momentum must be at most 1"),
        ("smart", {"proximal": -1}, "proximal must be at least 0"),
        ("smart", {"radius": -1}, "radius must be at least 0"),
        ("alum", {"steps": -1}, "steps must be at least 0"),
        ("alum", {"steps": 1001}, "steps must be at most 1,000"),
        ("alum", {"radius": 1}, "no setting 'radius'"),
        ("trades", {"norm": "l1"}, "norm must be one of 'linf', 'l2'"),
        ("trades", {"init": -1}, "init must be at least 0"),
        ("trades", {"step_size": -1}, "step_size must be at least 0"),
        ("smart+alum", {"steps": 2}, "smart and alum both have the setting 'steps'"),
    ],
)
def test_settings_out_of_range_are_refused(name: str, settings: dict[str, Any], message: str) -> None:
    assert set(VIRTUAL) <= set(DEFENCES)
    with pytest.raises(UsageError, match=message):
        make_defence(name, settings)
