"""InfoBERT: the loss step by step, which words are anchored, where gradients go, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tiny_models import FAMILIES, TEXTS, tiny_classifier
from tiny_training import FULL, begin
from unfooled.defences import Session, Step, make_defence
from unfooled.errors import UsageError
from unfooled.models import Batch, TensorModel, TextModel

LABELS = [row % 2 for row in range(len(TEXTS))]
ALPHA, BETA = 0.7, 0.3


@pytest.fixture
def model() -> TextModel:
    return tiny_classifier("bert", labels=2)


@pytest.fixture
def batch(model: TextModel) -> Batch:
    return model.batch(model.encode(TEXTS), LABELS)


def session(model: TextModel, name: str = "infobert", **settings: Any) -> Session[Any]:
    torch.manual_seed(1)
    return begin(make_defence(name, settings).resolved(model), model)


def by_hand(
    model: TextModel, critic: nn.Module, batch: Batch, *, code: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Task loss, bottleneck and anchored estimate from the Hugging Face model itself, token by token."""
    bert = model.module.bert
    words = bert.embeddings.word_embeddings(batch.ids)
    features = bert.embeddings(inputs_embeds=words, token_type_ids=batch.type_ids)  # positions and LayerNorm
    called = model.module(inputs_embeds=words, attention_mask=batch.mask, token_type_ids=batch.type_ids,
                          output_hidden_states=True)  # fmt: skip
    task = F.cross_entropy(called.logits, batch.labels)
    sentences = called.hidden_states[-1][:, 0]
    flat = [features[row, token] for row, token in batch.mask.nonzero().tolist()]
    torch.manual_seed(2)
    drawn = torch.randint(len(flat), (len(flat),)).tolist()
    bottleneck = sum(((own - flat[j]) ** 2).sum() / 2 for own, j in zip(flat, drawn, strict=True)) / len(flat)
    ranked_by = task + BETA * bottleneck if code else task
    (gradient,) = torch.autograd.grad(ranked_by, words, retain_graph=True)

    def score(local: Tensor, sentence: Tensor) -> Tensor:
        hidden = torch.relu(critic.both(torch.cat([local, sentence])))
        return F.softplus(critic.score(hidden))[0]

    anchored, others = [], []
    for row in range(len(batch)):
        length = int(batch.mask[row].sum())
        tokens = list(range(length)) if code else list(range(1, length - 1))  # without [CLS] and [SEP]
        tokens.sort(key=lambda token, row=row: gradient[row, token].norm().item())
        first, past = math.ceil(len(tokens) * 0.5), math.ceil(len(tokens) * 0.9)
        anchored.append(sorted(tokens[first:past]))
        others.append([token for token in tokens if token not in anchored[-1]])
    estimates = []
    if code:
        pairs = [(row, token) for row, own in enumerate(anchored) for token in own]
        order = torch.randperm(len(pairs)).tolist()
        for start in range(0, len(order), len(batch)):
            chunk = [pairs[place] for place in order[start : start + len(batch)]]
            for row, token in chunk:
                candidates = [score(features[r, t], sentences[row]) for r, t in chunk]
                own = score(features[row, token], sentences[row])
                estimates.append(own - torch.stack(candidates).logsumexp(0) + math.log(len(chunk)))
    else:
        for row, own_tokens in enumerate(anchored):
            for token in own_tokens:
                own = score(features[row, token], sentences[row])
                rest = [score(features[row, other], sentences[row]) for other in others[row]]
                estimates.append(own - torch.stack([own, *rest]).logsumexp(0) + math.log(1 + len(rest)))
    return task, bottleneck, torch.stack(estimates).mean()


def gradients(loss: Tensor, *modules: nn.Module) -> list[Tensor]:
    weights = [weight for module in modules for weight in module.parameters()]
    return list(torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True))


@pytest.mark.parametrize("code", [False, True], ids=["paper", "code"])
def test_the_loss_and_its_gradient_are_those_computed_by_hand(
    model: TextModel, batch: Batch, code: bool
) -> None:
    settings: dict[str, Any] = {"alpha": ALPHA, "beta": BETA}
    if code:
        settings |= {"include_special": True, "gradient": "each-point", "negatives": "batch"}
    own = session(model, **settings)
    task, bottleneck, estimate = by_hand(model, own.modules["critic"], batch, code=code)
    assert bottleneck > 1 and estimate.abs() > 1e-4
    expected = task + BETA * bottleneck - ALPHA * estimate
    torch.manual_seed(2)
    found = own.loss(batch, FULL)
    torch.testing.assert_close(found.task, task)
    torch.testing.assert_close(found.total, expected)
    modules = (model.module, own.modules["critic"])
    for mine, hand in zip(gradients(found.total, *modules), gradients(expected, *modules), strict=True):
        torch.testing.assert_close(mine, hand, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("texts", [["dull"], ["dull", "bad"]])
@pytest.mark.parametrize("negatives", ["same-input", "batch"])
def test_texts_too_short_for_an_anchored_word_drop_the_term(
    model: TextModel, texts: list[str], negatives: str
) -> None:
    own = session(model, beta=0, negatives=negatives)
    loss = own.loss(model.batch(model.encode(texts), [0] * len(texts)), FULL)
    assert loss.extra is not None and loss.extra.item() == 0
    loss.total.backward()
    weights = [*model.module.parameters(), *own.modules["critic"].parameters()]
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in weights)
    assert all(weight.grad is not None for weight in own.modules["critic"].parameters())


def test_a_short_text_beside_others_changes_nothing_for_them(model: TextModel) -> None:
    own = session(model, beta=0)
    loss = own.loss(model.batch(model.encode(["dull", TEXTS[2]]), [0, 1]), FULL).extra
    alone = own.loss(model.batch(model.encode([TEXTS[2]]), [1]), FULL).extra
    torch.testing.assert_close(loss, alone)


def test_weights_of_zero_leave_their_part_out(
    model: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_anchored = session(model, beta=0).loss(batch, FULL).extra
    asked: list[int] = []
    grad = torch.autograd.grad
    monkeypatch.setattr(torch.autograd, "grad", lambda *a, **k: asked.append(1) or grad(*a, **k))
    own = session(model, alpha=0)
    torch.manual_seed(2)
    only_bottleneck = own.loss(batch, FULL).extra
    assert not own.modules and not asked
    torch.manual_seed(2)
    both = session(model)
    torch.manual_seed(2)
    torch.testing.assert_close(both.loss(batch, FULL).extra, only_bottleneck + only_anchored)
    assert session(model, alpha=0, beta=0).loss(batch, FULL).extra is None


@pytest.mark.parametrize(("only", "zero"), [("ib_only", "alpha"), ("anchored_only", "beta")])
def test_one_term_alone_is_the_other_at_weight_zero(
    model: TextModel, batch: Batch, only: str, zero: str
) -> None:
    totals = []
    for settings in ({only: True, zero: 0.7}, {zero: 0.0}, {}):
        torch.manual_seed(2)
        own = session(model, **settings)
        torch.manual_seed(2)
        totals.append(own.loss(batch, FULL).total)
    torch.testing.assert_close(totals[0], totals[1])
    assert not torch.allclose(totals[0], totals[2])


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_and_bfloat16(family: str) -> None:
    model = tiny_classifier(family, labels=2)
    batch = model.batch(model.encode(TEXTS, TEXTS[::-1]), LABELS)
    own = session(model, alpha=1.0)
    torch.manual_seed(2)
    full = own.loss(batch, FULL).extra
    model.bf16 = True
    torch.manual_seed(2)
    half = own.loss(batch, FULL)
    assert full is not None and half.extra is not None and half.extra.dtype == torch.float32
    half.total.backward()
    assert half.extra.item() == pytest.approx(full.item(), rel=0.05, abs=0.02)
    for weight in own.modules["critic"].parameters():
        assert weight.grad is not None and weight.grad.dtype == torch.float32
        assert weight.grad.isfinite().all()


@pytest.mark.parametrize("other", ["stability", "rsmi"])
def test_its_terms_add_to_another_defence(model: TextModel, batch: Batch, other: str) -> None:
    together = session(model, f"{other}+infobert", **{"infobert.beta": 0, "infobert.alpha": 1.0})
    torch.manual_seed(2)
    both = together.loss(batch, FULL)
    torch.manual_seed(2)
    alone = session(model, other)
    torch.manual_seed(2)
    expected = alone.loss(batch, FULL)
    term = session(model, beta=0, alpha=1.0)
    term.critic.load_state_dict(together.parts["infobert"].critic.state_dict())  # type: ignore[attr-defined]
    extra = term.loss(batch, FULL).extra
    assert extra is not None
    torch.testing.assert_close(both.total, expected.total + extra)


class TestWithFreeLB:
    """K passes, each with both terms, by K; the clean gradient is asked for once per step."""

    SIZES: ClassVar[dict[str, float]] = {"freelb.step_size": 0.3, "freelb.init": 0.2, "freelb.steps": 2}

    def gradients(self, own: Session[Any], batch: Batch) -> list[Tensor]:
        modules = (own.model.module, own.modules["infobert"])
        for module in modules:
            module.zero_grad()
        torch.manual_seed(2)
        own.backward(batch, replace(FULL))
        weights = [weight for module in modules for weight in module.parameters()]
        return [torch.zeros_like(w) if w.grad is None else w.grad.clone() for w in weights]

    @pytest.mark.parametrize("gradient", ["clean", "each-point"])
    def test_both_terms_are_part_of_every_pass(self, model: TextModel, batch: Batch, gradient: str) -> None:
        """The passes of the session are made again one by one, from the points it went to."""
        own = session(model, "infobert+freelb", **self.SIZES, **{"gradient": gradient, "alpha": ALPHA})
        points: list[Tensor] = []
        leading = own._leading  # type: ignore[attr-defined]
        look = leading.look

        def looking(batch: Batch, sessions: Any = (), start: Tensor | None = None) -> Any:
            assert start is not None
            points.append((start - model.start(batch)).detach())
            return look(batch, sessions, start)

        leading.look = looking
        found = self.gradients(own, batch)
        assert len(points) == 2 and not torch.equal(*points)
        part = own.parts["infobert"]  # type: ignore[attr-defined]
        modules = (model.module, own.modules["infobert"])
        torch.manual_seed(2)
        torch.empty_like(points[0]).uniform_(-1, 1)  # what FreeLB draws first
        total: list[Tensor] = []
        for delta in points:
            seen = part.look(batch, [part], model.start(batch) + delta)
            loss = (seen.task + part.added(seen, FULL, [part])) / 2
            total = (
                [a + b for a, b in zip(total, gradients(loss, *modules), strict=True)]
                if total
                else gradients(loss, *modules)
            )
        for mine, expected in zip(found, total, strict=True):
            torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-3)

    def test_the_adversary_does_not_climb_the_anchored_term(self, model: TextModel, batch: Batch) -> None:
        def points(**settings: float) -> Tensor:
            own = session(model, "infobert+freelb", **self.SIZES, **settings)
            leading, found = own._leading, []  # type: ignore[attr-defined]
            look = leading.look
            leading.look = lambda b, s=(), start=None: found.append(start.detach()) or look(b, s, start)
            torch.manual_seed(2)
            own.backward(batch, FULL)
            return found[1]

        plain = points(alpha=0, beta=0)
        torch.testing.assert_close(points(alpha=50.0, beta=0), plain)
        assert not torch.allclose(points(alpha=0, beta=5.0), plain)

    def test_one_clean_gradient_serves_all_passes_of_a_step(
        self, model: TextModel, batch: Batch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[bool] = []

        def gradient(*args: Any, **more: Any) -> Any:
            asked.append(model.module.training)
            return TextModel.gradient(model, *args, **more)

        monkeypatch.setattr(model, "gradient", gradient)
        own = session(model, "infobert+freelb", **self.SIZES)
        model.module.train()
        for number in range(3):
            own.backward(batch, Step(done=1.0, number=number))
        assert asked == [False] * 3, "once per step, without dropout"
        assert model.module.training
        session(model).loss(batch, FULL)
        session(model, "infobert+freelb", **self.SIZES, gradient="each-point").backward(batch, FULL)
        assert len(asked) == 3


def test_attention_has_no_dropout_unless_asked_for(batch: Batch) -> None:
    model = tiny_classifier("bert", labels=2, attention_probs_dropout_prob=0.4)

    def rates() -> set[float]:
        return {layer.attention.self.dropout.p for layer in model.module.bert.encoder.layer}

    session(model, attention_dropout=None)
    assert rates() == {0.4}
    session(model)
    assert rates() == {0.0}
    session(model, attention_dropout=0.2)
    assert rates() == {0.2}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"anchored_from": 0.9, "anchored_to": 0.5},
            r"anchored_from \(0.9\) must be below anchored_to \(0.5\)",
        ),
        ({"anchored_from": 0.5, "anchored_to": 0.5}, "must be below"),
        ({"anchored_to": 1.1}, "anchored_to must be at most 1"),
        ({"anchored_from": -0.1}, "anchored_from must be at least 0"),
        (
            {"anchored_from": 0, "anchored_to": 1},
            "leave none for negatives. Narrow them, or choose negatives=batch",
        ),
        ({"ib_only": True, "anchored_only": True}, "nothing is left. Choose one"),
        ({"alpha": -1}, "alpha must be at least 0"),
        ({"beta": float("nan")}, "beta must be a finite number"),
        ({"negatives": "all"}, "negatives must be one of 'same-input', 'batch'"),
        ({"gradient": "paper"}, "gradient must be one of 'clean', 'each-point'"),
        ({"attention_dropout": 1}, "attention_dropout must be at most 0.99"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make_defence("infobert", settings)


def test_all_words_may_be_anchored_where_negatives_come_from_elsewhere(
    model: TextModel, batch: Batch
) -> None:
    everything = {"anchored_from": 0, "anchored_to": 1}
    assert session(model, **everything, negatives="batch").loss(batch, FULL).total.isfinite()
    assert session(model, **everything, ib_only=True).loss(batch, FULL).total.isfinite()


def test_a_model_without_words_is_refused() -> None:
    tensors = TensorModel(nn.Linear(4, 2), (4,))
    with pytest.raises(UsageError, match="needs a model of texts"):
        make_defence("infobert").resolved(tensors)
