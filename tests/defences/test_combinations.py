"""Defences joined by +: which losses add, which settings are meant, what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tiny_models import TEXTS, tiny_classifier
from tiny_training import FULL, begin, data_of, with_copies
from toy_defence import Toy, ToySession
from unfooled.defences import DEFENCES, Losses, Pass, Session, Step, TrainingData, make_defence, settings_of
from unfooled.defences.session import OwnRate
from unfooled.errors import UsageError
from unfooled.models import Batch, TextModel


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    DEFENCES["toy"] = Toy
    yield
    del DEFENCES["toy"]


@pytest.fixture(scope="module")
def model() -> TextModel:
    return tiny_classifier("bert", labels=2)


@pytest.fixture
def batch(model: TextModel) -> Batch:
    return model.batch(model.encode(TEXTS), [row % 2 for row in range(len(TEXTS))])


def session(name: str, model: TextModel, **settings: Any) -> Session[Any]:
    torch.manual_seed(1)
    made = {key.replace("__", "."): value for key, value in settings.items()}
    return begin(make_defence(name, made).resolved(model), model)


def loss(one: Session[Any], batch: Batch) -> Losses:
    torch.manual_seed(2)
    return one.loss(batch, FULL)


def gradients(one: Session[Any], batch: Batch) -> dict[str, Tensor]:
    """Of all weights, after one step."""
    torch.manual_seed(2)
    one.model.module.zero_grad()
    one.backward(batch, FULL)
    return {name: p.grad.clone() for name, p in one.model.module.named_parameters() if p.grad is not None}


def test_plain_fine_tuning_counts_once_and_terms_add(model: TextModel, batch: Batch) -> None:
    both = loss(session("stability+toy", model), batch)
    stability, toy = loss(session("stability", model), batch), loss(session("toy", model), batch)
    assert stability.plain and toy.plain and both.plain
    assert stability.extra is not None and toy.extra is not None
    torch.testing.assert_close(both.total, stability.task + stability.extra + toy.extra)


@pytest.mark.parametrize("name", ["rsmi", "noise-augment", "random-mask", "certified-rsmi"])
def test_inputs_of_its_own_stand_in_for_plain_fine_tuning(name: str, model: TextModel, batch: Batch) -> None:
    both = loss(session(f"{name}+toy", model), batch)
    own, toy = loss(session(name, model), batch), loss(session("toy", model), batch)
    assert not own.plain and not both.plain
    assert toy.extra is not None
    torch.testing.assert_close(both.total, own.total + toy.extra)


def test_a_part_with_several_passes_brings_the_task_loss(model: TextModel, batch: Batch) -> None:
    both = gradients(session("stability+toy", model, toy__passes=2), batch)
    toy = gradients(session("toy", model, passes=2), batch)
    stability = session("stability", model)
    torch.manual_seed(2)
    extra = stability.loss(batch, FULL).extra
    assert extra is not None
    model.module.zero_grad()
    extra.backward()
    assert len(both) > 10
    for name, weight in model.module.named_parameters():
        if name in both:
            added = torch.zeros_like(weight) if weight.grad is None else weight.grad
            torch.testing.assert_close(both[name], toy[name] + added, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"rsmi": {}}, {"bat-triplet": {"warmup": 0}}),
        ({"safer": {}}, {"bat-pairwise": {"warmup": 0}}),
        ({"stability": {}}, {"bat-triplet": {"warmup": 0}}),
        ({"infobert": {"attention_dropout": None}}, {"bat-triplet": {"warmup": 0}}),
        ({"freelb": {"steps": 1, "radius": 0}}, {"bat-triplet": {"warmup": 0}}),
        ({"freelb": {"steps": 1, "radius": 0}}, {"rsmi": {}}),
        ({"bat-pairwise": {"warmup": 0}}, {"mixup": {}}),
    ],
    ids=lambda part: next(iter(part)),
)
def test_the_gradients_of_two_parts_add(
    first: dict[str, dict[str, Any]], second: dict[str, dict[str, Any]], model: TextModel, tmp_path: Path
) -> None:
    """Both together are the first and the second, less plain fine-tuning, which counts once.

    FreeLB makes one pass at the clean inputs. A part with inputs of its own beside it adds its whole loss.
    """
    (tmp_path / "synonyms.json").write_text(json.dumps({"good": ["fine"], "film": ["movie", "story"]}))
    batch = model.batch(model.encode(TEXTS, TEXTS[::-1]), [row % 2 for row in range(len(TEXTS))])
    model.module.eval()

    def found(*parts: dict[str, dict[str, Any]]) -> dict[str, Tensor]:
        settings = {name: dict(own) for part in parts for name, own in part.items()}
        for name, own in settings.items():
            if name in ("safer", "bat-pairwise", "bat-triplet"):
                own["table"] = str(tmp_path / "synonyms.json")
        given = {f"{name}.{key}": value for name, own in settings.items() for key, value in own.items()}
        if len(parts) == 1:
            (given,) = settings.values()
        torch.manual_seed(1)  # the critic of InfoBERT
        one = begin(make_defence("+".join(settings), given).resolved(model), model, data_of(batch))
        step = with_copies(one, batch, FULL)
        assert set(step.copies) == {name for name, own in settings.items() if "table" in own}
        assert one.makes_copies() == bool(step.copies)
        torch.manual_seed(2)
        model.module.zero_grad()
        one.backward(batch, step)
        return {name: p.grad.clone() for name, p in model.module.named_parameters() if p.grad is not None}

    both, one, other, plain = found(first, second), found(first), found(second), found({"standard": {}})
    counted = 0 if "rsmi" in second and "freelb" in first else 1
    assert len(both) > 10
    assert any((gradient - one[name]).abs().max() > 1e-3 for name, gradient in both.items() if name in one)
    for name, gradient in both.items():
        parts = one.get(name, 0) + other.get(name, 0) - counted * plain.get(name, torch.zeros(()))
        torch.testing.assert_close(gradient, torch.as_tensor(parts), atol=2e-5, rtol=1e-3)


def test_the_losses_of_all_parts_are_noted_and_add_up(model: TextModel, batch: Batch) -> None:
    """FreeLB's passes bring the task loss; RSMI, on inputs of its own, and the toy add theirs."""
    noted: dict[str, float] = {}

    def note(name: str, value: Tensor) -> None:
        noted[name] = noted.get(name, 0.0) + float(value.detach())

    one = session("freelb+rsmi+toy", model, freelb__steps=1)
    torch.manual_seed(2)
    loss = one.backward(batch, Step(done=1.0, note=note))
    assert noted.keys() == {"task_loss", "rsmi_loss", "toy_loss"} and all(noted.values())
    assert loss.item() == pytest.approx(sum(noted.values()), rel=1e-5)


def test_rates_of_modules_are_those_of_all_parts(model: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    head = OwnRate(model.module.classifier, 0.1)
    monkeypatch.setattr(ToySession, "own_rates", lambda own: [head])
    assert session("stability+toy", model).own_rates() == [head]


def test_a_part_without_a_term_adds_nothing_to_what_leads(model: TextModel, batch: Batch) -> None:
    """Least of all the loss of plain fine-tuning a second time."""
    model.module.eval()
    sizes = {"freelb__steps": 2, "freelb__step_size": 0.2, "freelb__init": 0.1}
    alone = gradients(session("freelb", model, steps=2, step_size=0.2, init=0.1), batch)
    both = gradients(session("freelb+mixup", model, **sizes, mixup__weight=0), batch)
    assert len(both) > 10 and both.keys() == alone.keys()
    for name, gradient in both.items():
        torch.testing.assert_close(gradient, alone[name], atol=1e-7, rtol=1e-5)


def test_warnings_of_all_parts_are_given(model: TextModel) -> None:
    one = session("alum+trades+toy", model, alum__weight=0, trades__weight=0)
    assert one.warnings() == [
        "alum: weight is 0, so it adds nothing to the training.",
        "trades: weight is 0, so it adds nothing to the training.",
    ]
    assert session("alum+trades+toy", model, alum__weight=0.1).warnings() == []


def test_the_learning_rate_is_the_smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toy, "learning_rate", 3e-5)
    for name in ("stability+toy", "toy+stability"):
        assert make_defence(name).learning_rate == 3e-5


def test_terms_share_one_clean_pass(model: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    monkeypatch.setattr(
        model, "forward", lambda *a, **k: passes.append(1) or TextModel.forward(model, *a, **k)
    )
    loss(session("stability+toy", model), batch)
    assert len(passes) == 2  # clean, and with the noise of stability


class _Everywhere(Session[Toy]):
    """A penalty and a term in every pass of the other part; they know each other's gradient."""

    in_every_pass = True

    def penalty(self, seen: Pass, step: Step) -> Tensor:
        return 3 * seen.start.square().sum()

    def terms(self, seen: Pass, step: Step) -> Tensor:
        (task,) = torch.autograd.grad(seen.task, seen.start, retain_graph=True)
        torch.testing.assert_close(seen.gradient, task + 6 * seen.start)
        return seen.forward.logits.square().sum()


class _TwoPoints(Session[Toy]):
    """Two passes: the clean start, and a start that was moved."""

    def backward(self, batch: Batch, step: Step) -> Tensor:
        return sum(step.accumulate(lambda m=m: self.at(batch, step, m)) for m in (0.0, 0.1))  # type: ignore

    def at(self, batch: Batch, step: Step, moved: float) -> Tensor:
        seen = self.look(batch, self.companions, self.model.start(batch) + moved)
        added = self.added(seen, step, self.companions)
        return seen.task if added is None else seen.task + added


def test_a_part_may_be_in_every_pass_of_another(
    model: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Points(Toy):
        name = "points"

    monkeypatch.setattr(Toy, "begin", lambda own, training: _Everywhere(training, own))
    monkeypatch.setattr(Points, "begin", lambda own, training: _TwoPoints(training, own), raising=False)
    monkeypatch.setitem(DEFENCES, "points", Points)
    model.module.eval()
    together = gradients(session("points+toy", model), batch)
    model.module.zero_grad()
    for moved in (0.0, 0.1):
        start = model.start(batch) + moved
        logits = model.forward(batch, start=start).logits
        own = torch.nn.functional.cross_entropy(logits, batch.labels)
        (own + 3 * start.square().sum() + logits.square().sum()).backward()
    for name, weight in model.module.named_parameters():
        if name in together:
            torch.testing.assert_close(together[name], weight.grad, atol=1e-4, rtol=1e-4)
    monkeypatch.setattr(Toy, "begin", lambda own, training: _TwoPoints(training, own))
    with pytest.raises(UsageError, match="points and toy each make the passes of a training step"):
        session("points+toy", model)


def test_data_state_and_modules_of_all_parts_are_kept(model: TextModel) -> None:
    class Twice(Toy):
        name = "twice"

    DEFENCES["twice"] = Twice
    try:
        data = TrainingData(model.encode(TEXTS), [0] * len(TEXTS))
        one = begin(make_defence("toy+twice", {"toy.added": 2, "twice.added": 3}), model, data)
    finally:
        del DEFENCES["twice"]
    made = one.on_epoch(0, data)
    assert made is not None
    assert len(made) == len(TEXTS) + 2 + 3
    assert set(one.modules) == {"toy", "twice"}
    one.parts["twice"].steps = 7  # type: ignore[attr-defined]
    again = begin(one.defence, model, data)
    again.load_state_dict(one.state_dict())
    assert [part.steps for part in again.parts.values()] == [0, 7]  # type: ignore[attr-defined]


def test_a_part_that_only_changes_the_data_costs_no_pass(
    model: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToySession, "terms", Session.terms)
    passes: list[int] = []
    monkeypatch.setattr(
        model, "forward", lambda *a, **k: passes.append(1) or TextModel.forward(model, *a, **k)
    )
    loss(session("noise-augment+toy", model), batch)
    assert len(passes) == 1
    loss(session("standard+toy", model), batch)
    assert len(passes) == 2


def test_a_combination_is_deployed_as_its_one_predictor(model: TextModel) -> None:
    for name in ("stability+toy", "toy+stability"):
        defence = make_defence(name).resolved(model)
        assert defence.name == name
        assert defence.deployed_as == defence.predictor(model).describe()["name"] == "vote"
        assert defence.certifies == ("l2", "linf", "each-word", "l1")
    assert make_defence("standard+toy").predictor(model).describe()["name"] == "plain"


def test_settings_are_those_of_the_part_and_survive_being_saved(model: TextModel) -> None:
    defence = make_defence("stability+toy", {"sigma": 0.3, "toy.weight": 0.1, "gamma": 2}).resolved(model)
    saved = settings_of(defence)
    assert (saved["stability.sigma"], saved["stability.gamma"], saved["toy.weight"]) == (0.3, 2.0, 0.1)
    assert make_defence("stability+toy", saved) == defence


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("rsmi+stability", {}, r"rsmi \(two-step\) and stability \(vote\) each bring a predictor"),
        ("toy+toy", {}, "names toy twice"),
        ("stability+tow", {}, "no defence 'tow'. Did you mean 'toy'"),
        ("stability+", {}, "'stability\\+' has an empty part"),
        ("stability+toy", {"size": 1}, "no setting 'size'. Its settings: stability.gamma"),
        ("stability+toy", {"rsmi.sigma": 1}, "no part 'rsmi'.*Its parts: stability, toy"),
        ("stability+toy", {"toy.sigma": 1}, "defence 'toy' has no setting 'sigma'"),
        ("stability+toy", {"toy.weight": -1}, "weight must be at least 0"),
        ("stability+toy", {"gamma": 1, "stability.gamma": 2}, "given as 1 and 2. Give it once"),
    ],
)
def test_what_cannot_be_combined_is_refused_with_the_reason(
    name: str, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        make_defence(name, settings)


def test_a_setting_that_both_parts_have_must_name_its_part() -> None:
    class Other(Toy):
        name = "other"

    DEFENCES["other"] = Other
    try:
        with pytest.raises(UsageError, match=r"both have the setting 'weight'.*toy.weight or other.weight"):
            make_defence("toy+other", {"weight": 1})
    finally:
        del DEFENCES["other"]
