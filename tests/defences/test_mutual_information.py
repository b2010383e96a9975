"""The two bounds of mutual information: values, signs, limits, and what they must not depend on."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from unfooled.defences.parts.mutual_information import Critic, across_batch, spread, within_input

Estimate = Callable[[Critic, Tensor, Tensor], Tensor]
ROWS, TOKENS, WIDTH = 48, 6, 4


def product(local: Tensor, sentence: Tensor) -> Tensor:
    """A critic to compute with by hand."""
    return (local * sentence).sum(dim=-1)


def test_the_spread_is_half_the_squared_distance_to_a_drawn_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    features = torch.tensor([[[0.0, 0.0], [3.0, 4.0]], [[1.0, 0.0], [9.0, 9.0]]])
    present = torch.tensor([[1, 1], [1, 0]])
    # Three features are there: (0, 0), (3, 4), (1, 0). Drawn for them: the second, the second, the first.
    monkeypatch.setattr(torch, "randint", lambda high, size, device: torch.tensor([1, 1, 0]))
    # ½·25 for the first, nothing for the second, ½·1 for the third.
    assert spread(features, present).item() == pytest.approx((12.5 + 0 + 0.5) / 3)


def test_the_expected_spread_is_the_variance_of_the_features() -> None:
    torch.manual_seed(0)
    features, present = torch.randn(2, 3, 4) + 5, torch.ones(2, 3)
    drawn = torch.stack([spread(features, present) for _ in range(4000)])
    expected = features.flatten(0, 1).var(dim=0, correction=0).sum()
    assert drawn.mean().item() == pytest.approx(expected.item(), rel=0.03)


def test_lowering_the_spread_draws_features_together_and_leaves_padding_alone() -> None:
    torch.manual_seed(0)
    features, present = torch.randn(2, 3, 4, requires_grad=True), torch.tensor([[1, 1, 1], [1, 1, 0]])
    optimizer = torch.optim.SGD([features], lr=0.3)
    padding = features[1, 2].detach().clone()
    far = torch.pdist(features[present.bool()]).max().item()
    for _ in range(100):
        optimizer.zero_grad()
        spread(features, present).backward()
        optimizer.step()
    assert torch.pdist(features[present.bool()]).max().item() < 0.1 * far
    assert torch.equal(features[1, 2], padding)


def test_the_critic_is_two_layers_on_both_features_in_float32() -> None:
    torch.manual_seed(0)
    critic = Critic(WIDTH)
    assert critic.both.weight.shape == (300, 2 * WIDTH)
    local, sentence = torch.randn(3, WIDTH), torch.randn(3, WIDTH)
    net = nn.Sequential(critic.both, nn.ReLU(), critic.score, nn.Softplus())
    expected = net(torch.cat([local, sentence], dim=-1)).squeeze(-1)
    torch.testing.assert_close(critic(local, sentence), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = critic(local.bfloat16(), sentence.bfloat16())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, atol=0.02, rtol=0.02)


def test_within_an_input_the_negatives_are_its_other_words() -> None:
    features = torch.tensor([[[1.0], [2.0], [0.0], [7.0]], [[4.0], [1.0], [7.0], [7.0]]])
    sentences = torch.tensor([[1.0], [0.5]])
    anchored = torch.tensor([[1, 1, 0, 0], [1, 0, 0, 0]]).bool()
    others = torch.tensor([[0, 0, 1, 0], [0, 1, 0, 0]]).bool()
    # First input: scores 1 and 2 are anchored, each beside the one negative 0. Second: 2 beside 0.5.
    each = [
        1 - math.log(math.exp(1) + math.exp(0)) + math.log(2),
        2 - math.log(math.exp(2) + math.exp(0)) + math.log(2),
        2 - math.log(math.exp(2) + math.exp(0.5)) + math.log(2),
    ]
    found = within_input(product, features, sentences, anchored, others)
    assert found.item() == pytest.approx(sum(each) / 3)


def test_across_the_batch_the_candidates_are_anchored_words_in_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = torch.tensor([[[1.0], [9.0], [3.0]], [[9.0], [5.0], [9.0]]])
    sentences = torch.tensor([[1.0], [0.5]])
    anchored = torch.tensor([[1, 0, 1], [0, 1, 0]]).bool()
    # Anchored: 1 and 3 with the sentence 1, and 5 with the sentence 0.5. Shuffled: 1, 5 | 3.
    monkeypatch.setattr(torch, "randperm", lambda count, device: torch.tensor([0, 2, 1]))
    each = [
        1 - math.log(math.exp(1) + math.exp(5)) + math.log(2),  # the sentence 1 with 1 and 5
        2.5 - math.log(math.exp(0.5) + math.exp(2.5)) + math.log(2),  # the sentence 0.5 with 1 and 5
        0,  # alone in its chunk
    ]
    found = across_batch(product, features, sentences, anchored, chunk=2)
    assert found.item() == pytest.approx(sum(each) / 3)


def within(critic: Critic, features: Tensor, sentences: Tensor) -> Tensor:
    """The first two words of six are anchored."""
    anchored = (torch.arange(TOKENS) < 2).expand(features.shape[:2])
    return within_input(critic, features, sentences, anchored, ~anchored)


def across(critic: Critic, features: Tensor, sentences: Tensor, *, chunk: int = 12) -> Tensor:
    anchored = (torch.arange(TOKENS) < 2).expand(features.shape[:2])
    return across_batch(critic, features, sentences, anchored, chunk)


def trained(estimate: Estimate, *, related: bool) -> tuple[Critic, Tensor, Tensor]:
    """A critic that was trained to raise the estimate, and features that it has not seen."""
    torch.manual_seed(0)
    critic = Critic(WIDTH)
    optimizer = torch.optim.Adam(critic.parameters(), lr=5e-3)
    for _ in range(120):
        optimizer.zero_grad()
        (-estimate(critic, *drawn(related=related))).backward()
        optimizer.step()
    return critic, *drawn(related=related)


def drawn(*, related: bool) -> tuple[Tensor, Tensor]:
    """Words that are anchored say what the sentence is, or nothing about it."""
    features, sentences = torch.randn(ROWS, TOKENS, WIDTH), torch.randn(ROWS, WIDTH)
    if related:
        features[:, :2] = sentences.unsqueeze(1) + 0.1 * features[:, :2]
    return features, sentences


@pytest.mark.full
@pytest.mark.parametrize(("estimate", "candidates"), [(within, 5), (across, 12)])
def test_the_estimate_is_high_for_related_features_and_bounded(estimate: Estimate, candidates: int) -> None:
    critic, features, sentences = trained(estimate, related=True)
    with torch.no_grad():
        related = estimate(critic, features, sentences).item()
        shuffled = estimate(critic, features, sentences.roll(1, 0)).item()
    assert 0.4 * math.log(candidates) < related <= math.log(candidates)
    assert shuffled < related - 0.5


@pytest.mark.full
@pytest.mark.parametrize("estimate", [within, across])
def test_the_estimate_of_independent_features_is_about_nothing(estimate: Estimate) -> None:
    critic, features, sentences = trained(estimate, related=False)
    with torch.no_grad():
        assert abs(estimate(critic, features, sentences).item()) < 0.15


@pytest.mark.parametrize("estimate", [within, partial(across, chunk=1000)])
def test_order_and_padding_do_not_matter(estimate: Estimate) -> None:
    torch.manual_seed(0)
    critic, (features, sentences) = Critic(WIDTH), drawn(related=True)
    own = estimate(critic, features, sentences)
    order = torch.randperm(ROWS)
    torch.testing.assert_close(estimate(critic, features[order], sentences[order]), own)
    longer = torch.cat([features, 100 * torch.randn(ROWS, 3, WIDTH)], dim=1)
    anchored = (torch.arange(TOKENS + 3) < 2).expand(ROWS, -1)
    others = (torch.arange(TOKENS + 3) < TOKENS).expand(ROWS, -1) & ~anchored
    if estimate is within:
        padded = within_input(critic, longer, sentences, anchored, others)
    else:
        padded = across_batch(critic, longer, sentences, anchored, chunk=1000)
    torch.testing.assert_close(padded, own)


@pytest.mark.parametrize("name", ["within", "across"])
def test_nothing_anchored_is_an_estimate_of_nothing_with_all_gradients(name: str) -> None:
    critic, (features, sentences) = Critic(WIDTH), drawn(related=True)
    features.requires_grad_()
    none = torch.zeros(ROWS, TOKENS, dtype=torch.bool)
    if name == "within":
        found = within_input(critic, features, sentences, none, none)
    else:
        found = across_batch(critic, features, sentences, none, chunk=4)
    found.backward()
    assert found.item() == 0
    for weight in (*critic.parameters(), features):
        assert weight.grad is not None and not weight.grad.any()
