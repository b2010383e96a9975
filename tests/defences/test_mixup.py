"""Mixup: the loss by hand, what is mixed in every encoder family, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tiny_models import FAMILIES, TEXTS, tiny_classifier
from tiny_training import FULL, LABELS, begin
from unfooled.defences import Session, make_defence
from unfooled.errors import UsageError
from unfooled.models import Batch, TensorModel, TextModel


def session(model: Any, **settings: Any) -> Session[Any]:
    return begin(make_defence("mixup", settings).resolved(model), model)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the session draws: the share λ, and the partners."""
    found: dict[str, Any] = {"share": 0.25, "partners": [1, 0]}
    beta = torch.distributions.Beta
    monkeypatch.setattr(beta, "sample", lambda self, *shape: torch.tensor(float(found["share"])))
    monkeypatch.setattr(torch, "randperm", lambda n, **more: torch.tensor(found["partners"]))
    return found


def test_the_loss_by_hand(drawn: dict[str, Any]) -> None:
    """Logits are x itself. (2, 0) has label 0, (0, 2) label 1; λ = ¼.

    The mixtures are (½, 3/2) and (3/2, ½): each has its partner's class by a logit of 1.
    """
    linear = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        linear.weight.copy_(torch.eye(2))
    model = TensorModel(linear, (2,))
    batch = model.batch(model.read(torch.tensor([[2.0, 0.0], [0.0, 2.0]])), [0, 1])
    losses = session(model, weight=3).loss(batch, FULL)
    partner = math.log(1 + math.e**-1)  # −log of the probability of the class that leads by 1
    own = partner + 1
    assert losses.extra is not None
    assert losses.task.item() == pytest.approx(math.log(1 + math.e**-2))
    assert losses.extra.item() == pytest.approx(3 * (0.25 * own + 0.75 * partner))
    assert session(model, weight=0).loss(batch, FULL).extra is None


def test_the_share_is_drawn_from_a_symmetric_beta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beta(α, α) has the mean ½ and the variance 1 / (4·(2·α + 1)): for α = ½, ⅛."""
    model = TensorModel(nn.Linear(2, 2), (2,))
    batch, one, seen = model.batch(model.read(torch.eye(2)), [0, 1]), session(model, alpha=0.5), []

    def spy(self: Any, seen_pass: Any, partners: Tensor, share: Tensor) -> Tensor:
        seen.append(float(share))
        return seen_pass.forward.logits  # type: ignore[no-any-return]

    monkeypatch.setattr(type(one), "_mixed", spy)
    torch.manual_seed(0)
    for _ in range(3000):
        one.loss(batch, FULL)
    shares = torch.tensor(seen)
    assert len(shares) == 3000
    assert shares.mean().item() == pytest.approx(1 / 2, abs=0.03)  # four standard errors
    assert shares.var().item() == pytest.approx(1 / 8, abs=0.01)


@pytest.mark.parametrize("place", ["sentence", "start"])
def test_both_examples_of_a_mixture_are_learned_from(
    place: str, classifier: TextModel, drawn: dict[str, Any]
) -> None:
    """All gradients are those of a mixture that is written out: of each state and of its partner."""
    batch = classifier.batch(classifier.encode(TEXTS), [row % 2 for row in range(len(TEXTS))])
    assert batch.labels is not None
    drawn["partners"], partners = order()
    classifier.module.eval()

    def gradients(loss: Tensor) -> dict[str, Tensor]:
        classifier.module.zero_grad()
        loss.backward()
        return {n: p.grad.clone() for n, p in classifier.module.named_parameters() if p.grad is not None}

    extra = session(classifier, place=place).loss(batch, FULL).extra
    assert extra is not None
    found = gradients(extra)
    start, rows = classifier.start(batch), torch.arange(len(batch))
    if place == "sentence":
        last = classifier.depth - 1
        states: list[Tensor] = []

        def keep(site: Any, hidden: Tensor, mask: Tensor | None) -> Tensor:
            states.append(hidden)
            return 0.25 * hidden + 0.75 * hidden[partners] - hidden

        logits = classifier.forward(batch, start=start, sampler=keep, sites=(last,)).logits
        assert len(states) == 1
    else:
        lengths = batch.mask.sum(dim=1)
        longer = batch.rows(torch.where(lengths[partners] > lengths, partners, rows))
        logits = classifier.forward(longer, start=0.25 * start + 0.75 * start[partners]).logits
    chances = logits.log_softmax(dim=-1)
    own, other = chances[rows, batch.labels], chances[rows, batch.labels[partners]]
    expected = gradients(-(0.25 * own + 0.75 * other).mean())
    assert len(found) > 10 and found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert_close(found[name], gradient, atol=1e-6, rtol=1e-4)


def order() -> tuple[list[int], Tensor]:
    """Each text has another for a partner."""
    partners = [*range(1, len(TEXTS)), 0]
    return partners, torch.tensor(partners)


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"t5"}))
def test_what_the_head_reads_is_mixed(family: str, drawn: dict[str, Any]) -> None:
    """The states of the first token of the last layer, whatever the lengths."""
    model = tiny_classifier(family)
    model.module.eval()
    batch = model.batch(model.encode(TEXTS), LABELS)
    drawn["partners"], partners = order()
    passes: list[Tensor] = []

    def spied(own: Any) -> Any:
        def spy(*args: Any, **kwargs: Any) -> Any:
            made = own(model, *args, **kwargs)
            passes.append(made.logits)
            return made

        return spy

    def mix(site: Any, hidden: Tensor, mask: Tensor | None) -> Tensor:
        added = torch.zeros_like(hidden)
        added[:, 0] = 0.25 * hidden[:, 0] + 0.75 * hidden[partners, 0] - hidden[:, 0]
        return added

    one = session(model)
    assert one.defence.place == "sentence"
    expected = model.forward(batch, sampler=mix, sites=(model.depth - 1,)).logits
    model.forward, model.after = spied(TextModel.forward), spied(TextModel.after)  # type: ignore[method-assign]
    assert one.loss(batch, FULL).extra is not None
    clean, mixed = passes
    assert (clean - mixed).abs().max() > 1e-4
    assert_close(mixed, expected, atol=1e-5, rtol=1e-4)


def test_states_of_the_clean_pass_are_mixed_where_the_encoder_allows(
    classifier: TextModel, batch: Batch
) -> None:
    run: list[int] = []
    attention = classifier.module.bert.encoder.layer[0].attention
    handle = attention.register_forward_hook(lambda *_: run.append(1))
    for place, passes in (("sentence", 1), ("start", 2)):
        run.clear()
        session(classifier, place=place).loss(batch, FULL)
        assert len(run) == passes
    handle.remove()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_mixed_embeddings_are_read_as_far_as_the_longer_text(family: str, drawn: dict[str, Any]) -> None:
    """With λ = 1 a row that is longer than its partner has its own answer; with λ = 0 the other way round."""
    model = tiny_classifier(family)
    batch = model.batch(model.encode(TEXTS), LABELS)
    drawn["partners"], partners = order()
    lengths = batch.mask.sum(dim=1)
    clean = model.forward(batch).logits
    longer, shorter = lengths > lengths[partners], lengths < lengths[partners]
    assert longer.any() and shorter.any()
    passes: list[Tensor] = []

    def spy(*args: Any, **kwargs: Any) -> Any:
        made = TextModel.forward(model, *args, **kwargs)
        passes.append(made.logits)
        return made

    model.forward = spy  # type: ignore[method-assign]
    found = {}
    for share in (1.0, 0.0):
        drawn["share"] = share
        session(model, place="start").loss(batch, FULL)
        found[share] = passes[-1]
    assert len(passes) == 4
    assert_close(found[1.0][longer], clean[longer], atol=1e-5, rtol=1e-4)
    assert_close(found[0.0][shorter], clean[partners][shorter], atol=1e-5, rtol=1e-4)


def test_the_share_is_drawn_anew_for_each_batch(classifier: TextModel) -> None:
    batch = classifier.batch(classifier.encode(TEXTS), LABELS)
    one = session(classifier)
    torch.manual_seed(0)
    losses = [one.loss(batch, FULL).total.item() for _ in range(8)]
    assert len(set(losses)) == 8
    torch.manual_seed(0)
    assert losses == [one.loss(batch, FULL).total.item() for _ in range(8)]


def test_a_head_that_reads_other_tokens_mixes_the_start() -> None:
    for model in (tiny_classifier("t5"), TensorModel(nn.Linear(2, 2), (2,))):
        assert session(model).defence.place == "start"
        with pytest.raises(UsageError, match="Choose place=start"):
            session(model, place="sentence")
