"""What every kind of model promises: one test for each promise, over texts and tensors."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from tiny_models import TEXTS, tiny_classifier
from unfooled.errors import UsageError
from unfooled.models import FreshNoise, KeyedNoise, Model, Noise, TensorModel, Unreadable, input_key
from unfooled.predictors import Classifier, Plain, TwoStep, Vote

SOURCE = Path(__file__).parents[2] / "src" / "unfooled"
NOISE = Noise(0.3)


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    made = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 9, 3, bias=False))
    with torch.no_grad():
        made[3].weight.normal_(0, 3)
    return made


def images(count: int = 7) -> Tensor:
    return torch.randn(count, 2, 5, 5, generator=torch.Generator().manual_seed(1))


KINDS = {
    "text": lambda: (tiny_classifier("bert"), list(TEXTS)),
    "tensor": lambda: (TensorModel(network(), (2, 5, 5)), images()),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A model and inputs that it reads."""
    return KINDS[request.param]()


def test_rows_do_not_depend_on_order_batch_or_padding(kind: tuple[Model, Any]) -> None:
    model, inputs = kind
    encoded = model.read(inputs)
    with torch.inference_mode():
        together = model.forward(model.batch(encoded)).logits
        backwards = model.forward(model.batch(encoded[::-1])).logits.flip(0)
        alone = torch.cat([model.forward(model.batch([item])).logits for item in encoded])
    assert together.shape == (len(encoded), model.num_labels)
    assert_close(together, backwards, rtol=1e-4, atol=1e-5)
    assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_keyed_noise_does_not_depend_on_the_batch(kind: tuple[Model, Any]) -> None:
    model, inputs = kind
    encoded = model.read(inputs)
    keys = [input_key(3, item.key()) for item in encoded]
    assert len(set(keys)) == len(keys)

    def noisy(numbers: list[int]) -> Tensor:
        sampler = KeyedNoise(NOISE, [keys[number] for number in numbers])
        batch = model.batch([encoded[number] for number in numbers])
        with torch.inference_mode():
            return model.forward(batch, sampler=sampler, sites=NOISE.sites).logits

    together = noisy(list(range(len(encoded))))
    with torch.inference_mode():
        clean = model.forward(model.batch(encoded)).logits
    assert (together - clean).abs().max() > 1e-3
    for number in range(len(encoded)):
        assert_close(noisy([number])[0], together[number], rtol=1e-4, atol=1e-5)


def test_start_is_what_forward_begins_with(kind: tuple[Model, Any]) -> None:
    model, inputs = kind
    batch = model.batch(model.read(inputs))
    with torch.inference_mode():
        start = model.start(batch)
        assert_close(model.forward(batch, start=start).logits, model.forward(batch).logits)
        moved = start + torch.randn(start.shape, generator=torch.Generator().manual_seed(0))
        assert (model.forward(batch, start=moved).logits - model.forward(batch).logits).abs().max() > 1e-3
    first = model.read(inputs)[0]
    assert model.coordinates(first) == model.start(model.batch([first]))[0].numel()


def test_copies_are_rows_repeated(kind: tuple[Model, Any]) -> None:
    model, inputs = kind
    batch = model.batch(model.read(inputs)[:3], labels=[0, 1, 2])
    copies = [2, 0, 0, 1]
    with torch.inference_mode():
        whole = model.forward(batch).logits
        assert_close(model.forward(batch, copies=copies).logits, whole[copies], rtol=1e-4, atol=1e-5)
        rows = batch.rows(torch.tensor(copies))
        assert_close(model.forward(rows).logits, whole[copies], rtol=1e-4, atol=1e-5)
    assert len(rows) == 4 and rows.labels.tolist() == [2, 0, 0, 1]


def test_gradient_is_autograd_of_forward_and_touches_no_weight(kind: tuple[Model, Any]) -> None:
    model, inputs = kind
    batch = model.batch(model.read(inputs))
    labels = torch.arange(len(batch)) % model.num_labels
    gradient, chances = model.gradient(batch, labels)
    start = model.start(batch).detach().requires_grad_(True)
    logits = model.forward(batch, start=start).logits
    (expected,) = torch.autograd.grad(F.cross_entropy(logits, labels, reduction="sum"), start)
    assert gradient.shape == start.shape and gradient.abs().max() > 0
    assert_close(gradient, expected, rtol=1e-4, atol=1e-6)
    assert_close(chances, logits.softmax(-1).detach(), rtol=1e-4, atol=1e-6)
    assert all(parameter.grad is None for parameter in model.module.parameters())


def test_gradient_averages_noise_inside_the_log(kind: tuple[Model, Any]) -> None:
    model, inputs = kind
    encoded = model.read(inputs)[:2]
    keys = [1, 2, 3, 4]
    gradient, chances = model.gradient(
        model.batch(encoded), sampler=KeyedNoise(NOISE, keys), sites=NOISE.sites, draws=2
    )
    with torch.inference_mode():
        logits = model.forward(
            model.batch(encoded), sampler=KeyedNoise(NOISE, keys), sites=NOISE.sites, copies=[0, 0, 1, 1]
        ).logits
    assert_close(chances, logits.softmax(-1).view(2, 2, -1).mean(dim=1), rtol=1e-4, atol=1e-6)
    assert gradient.isfinite().all()


def test_equal_inputs_have_equal_keys_and_every_input_can_be_shown(kind: tuple[Model, Any]) -> None:
    model, inputs = kind
    first, again = model.read(inputs), model.read(inputs)
    assert [item.key() for item in first] == [item.key() for item in again]
    assert len({repr(item.key()) for item in first}) == len({item.show() for item in first}) == len(first)
    assert all("\n" not in item.show() and len(item) >= 1 for item in first)
    assert not any(item.truncated for item in first)


def test_unreadable_inputs_come_with_the_reason() -> None:
    text, _ = KINDS["text"]()
    found = text.read(["fine", "", " \x01", "dull"])
    assert [isinstance(one, Unreadable) for one in found] == [False, True, True, False]
    assert "empty" in found[1].reason and "nothing to read" in found[2].reason
    tensor, inputs = KINDS["tensor"]()
    inputs[1, 0, 0, 0] = float("nan")
    found = tensor.read(inputs)
    assert [isinstance(one, Unreadable) for one in found[:3]] == [False, True, False]
    assert "NaN" in found[1].reason and found[1].show().startswith("tensor 2×5×5, float32, ")


def test_predictors_answer_for_both_kinds(kind: tuple[Model, Any]) -> None:
    model, inputs = kind
    names = ["a", "b", "c"]
    plain = Classifier(model, Plain(), labels=names).predict(inputs)
    vote = Vote(sigma=0.4, noise_layers=("embeddings",), masking="none", masked_tokens=0, votes=9)
    noisy = Classifier(model, vote, labels=names)
    votes = noisy.predict(inputs, seed=2)
    assert len(plain) == len(votes) == len(inputs)
    assert all(sum(one.votes[0].values()) == 9 for one in votes)
    assert len({one.label for one in plain}) > 1
    alone = [noisy.predict(inputs[number : number + 1], seed=2)[0].votes for number in range(len(inputs))]
    assert alone == [one.votes for one in votes]
    assert [one.votes for one in noisy.predict(inputs, seed=3)] != alone


def test_what_a_tensor_has_not_is_refused() -> None:
    model, inputs = KINDS["tensor"]()
    with pytest.raises(UsageError, match="no tokens that could be hidden"):
        Classifier(model, TwoStep(noise_layers=("embeddings",)), labels=["a", "b", "c"])
    with pytest.raises(UsageError, match="at its input only"):
        Classifier(model, Vote(noise_layers=(0,), masking="none"), labels=["a", "b", "c"])
    with pytest.raises(UsageError, match="leave out pairs"):
        Classifier(model, Plain(), labels=["a", "b", "c"]).predict(inputs, ["x"])
    with pytest.raises(UsageError, match=r"shape \(2, 5, 4\)"):
        model.read(inputs[..., :4])


def test_fresh_noise_has_the_stated_size() -> None:
    torch.manual_seed(0)
    values = torch.zeros(64, 2, 5, 5)
    for kind, spread in (("gaussian", 0.3), ("laplace", 0.3 * 2**0.5)):
        noise = FreshNoise(Noise(0.3, kind=kind))("embeddings", values, None)  # type: ignore[arg-type]
        assert noise.shape == values.shape and float(noise.std()) == pytest.approx(spread, rel=0.06)


MAY_NAME_TEXTS = {
    "models/__init__.py",
    "models/text.py",
    "models/open_text.py",
    "models/ids.py",
    "models/qa.py",
    "certificates/token_ids.py",
    "predictors/anchored.py",
    "predictors/smoothing/certified_masked.py",
    "predictors/smoothing/word_tokens.py",
    "api/load.py",
}
"""The kind itself, questions, what works on words and token ids, and ``wrap`` (Hugging Face models)."""


def test_only_what_works_on_words_names_the_text_kind() -> None:
    naming = set()
    for path in SOURCE.rglob("*.py"):
        names = {
            node.id if isinstance(node, ast.Name) else node.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Name | ast.alias)
        }
        if "TextModel" in names:
            naming.add(path.relative_to(SOURCE).as_posix())
    assert naming
    assert naming <= MAY_NAME_TEXTS, sorted(naming - MAY_NAME_TEXTS)
