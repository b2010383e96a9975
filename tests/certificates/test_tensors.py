"""Certificates for tensors: true radii of known classifiers, 10,000 attacks, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor, nn

from unfooled.api.certify import certify
from unfooled.certificates.sampling import Sampling
from unfooled.certificates.threats import OF_NUMBERS, TEXT
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError, UserError
from unfooled.models import TensorModel
from unfooled.predictors import Classifier, Vote
from unfooled.records.certificate import Certificate

DIRECTION = torch.tensor([[0.6, 0.0], [0.0, -0.8]])  # of length one, as a 2×2 image


def half_space(inputs: Tensor) -> Tensor:
    score = (inputs * DIRECTION).flatten(1).sum(dim=1)
    return torch.stack([-score, score], dim=1)


def certified(
    model: Any, inputs: Tensor, *, truth: list[int] | None = None, **given: Any
) -> list[Certificate]:
    """The certificates of ``uf.certify``; sampling settings by their names."""
    names = {"n0", "n", "alpha", "adaptive", "radius"}
    sampling = Sampling(**{name: value for name, value in given.items() if name in names})
    rest = {name: value for name, value in given.items() if name not in names}
    return list(certify(model, Inputs(tensors=inputs, labels=truth), sampling=sampling, **rest))


def at(distance: float) -> Tensor:
    return distance * DIRECTION


@pytest.mark.parametrize("adaptive", [False, True])
def test_radius_of_a_half_space_stays_below_the_true_one(adaptive: bool) -> None:
    inputs = torch.stack([at(0.3), at(-0.15), at(0.02), at(0.9)])
    found = certified(half_space, inputs, sigma=0.25, adaptive=adaptive, n=10_000)
    for one, true in zip(found, (0.3, 0.15, 0.02, 0.9), strict=True):
        assert one.radius <= true
        if one.status == "certified":
            assert one.label == ("0" if true == 0.15 else "1")
    assert found[0].radius > (0.2 if adaptive else 0.28)
    assert found[3].radius > 0.5


def test_no_certified_tensor_is_flipped_by_ten_thousand_attacks() -> None:
    """The smoothed half-space is known exactly, so is every answer under attack."""
    rng = np.random.default_rng(0)
    for threat in ("l2", "l1", "linf"):
        (one,) = certified(half_space, at(0.4)[None], sigma=0.3, threat=threat, n=2000)
        moves = rng.normal(size=(10_000, 4))
        moves[::2] = np.sign(moves[::2]) * rng.dirichlet([0.1] * 4, 5000)  # few coordinates
        moves[:3] = -DIRECTION.flatten().numpy(), np.sign(-DIRECTION.flatten().numpy()), [0, 0, 0, 1]
        length = {"l2": 2, "l1": 1, "linf": np.inf}[threat]
        moves *= (one.radius / np.linalg.norm(moves, ord=length, axis=1))[:, None]
        answers = half_space(at(0.4)[None] + torch.from_numpy(moves).float().view(-1, 2, 2)).argmax(dim=1)
        assert one.label == "1" and one.radius > 0.1
        assert answers.tolist() == [1] * 10_000


def test_every_bound_comes_from_the_same_votes() -> None:
    bounds = ["gaussian", "renyi", "pixeldp", "composed"]
    (one,) = certified(half_space, at(0.3)[None], sigma=0.25, n=2000, bounds=bounds)
    assert list(one.radii) == bounds and one.radius == one.radii["gaussian"]
    assert one.radii["composed"] == pytest.approx(one.radii["gaussian"])
    assert 0 < one.radii["pixeldp"] < one.radii["renyi"] < one.radii["gaussian"]
    assert one.radii["gaussian"] == pytest.approx(0.25 * norm.ppf(one.p_top))
    (linf,) = certified(half_space, at(0.3)[None], sigma=0.25, n=2000, threat="linf")
    assert linf.radius == pytest.approx(one.radius / 2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_inputs_that_are_not_finite_are_refused_and_the_others_answered(bad: float) -> None:
    inputs = torch.stack([at(0.5), at(0.5)])
    inputs[0, 1, 0] = bad
    refused, answered = certified(half_space, inputs, sigma=0.25, n=500, truth=[1, 0])
    assert refused.status == "refused" and "NaN or infinite" in refused.message and refused.correct is None
    assert refused.radius == 0 and refused.samples == 0
    assert answered.status == "certified" and answered.correct is False


def test_certificates_do_not_depend_on_batches() -> None:
    inputs = torch.stack([at(distance) for distance in (0.05, 0.1, 0.4)])
    noise = Vote(sigma=0.25, noise_layers=("embeddings",), masking="none", masked_tokens=0)
    small = Classifier(TensorModel(half_space, (2, 2), batch_size=7), noise, labels=["0", "1"])
    together = certified(small, inputs, n=300)
    alone = [certified(half_space, own[None], sigma=0.25, n=300)[0] for own in inputs]
    assert [one.votes for one in together] == [one.votes for one in alone]
    other = certified(half_space, inputs, sigma=0.25, n=300, seed=1)
    assert [one.votes for one in other] != [one.votes for one in alone]


def test_the_memory_layout_of_the_inputs_is_kept_and_changes_no_vote() -> None:
    layouts = []

    def spy(inputs: Tensor) -> Tensor:
        layouts.append(inputs.is_contiguous(memory_format=torch.channels_last) and not inputs.is_contiguous())
        return torch.stack([inputs[:, 0].sum(dim=(1, 2)), inputs[:, 1].sum(dim=(1, 2))], dim=1)

    images = torch.randn(3, 2, 4, 4, generator=torch.Generator().manual_seed(0)) / 10
    usual = certified(spy, images, sigma=0.2, n=300)
    assert not any(layouts)
    layouts.clear()
    last = certified(spy, images.contiguous(memory_format=torch.channels_last), sigma=0.2, n=300)
    assert all(layouts[1:]) and len(layouts) > 2  # the first counts the classes
    assert [one.votes for one in last] == [one.votes for one in usual]


def test_a_module_is_asked_in_evaluation_mode_and_broken_scores_are_refused() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.9), nn.Linear(4, 3))
    certified(model.train(), torch.ones(1, 2, 2), sigma=0.1, n=100)
    assert not model.training
    with torch.no_grad():
        model[2].bias[0] = float("nan")
    with pytest.raises(UserError, match="not a finite number"):
        certified(model, torch.ones(1, 2, 2), sigma=0.1, n=100)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(4, 1)), r"\(1, 1\)"),
        (lambda inputs: inputs[:, 0, 0], r"\(1,\)"),
        (lambda inputs: torch.stack([inputs, -inputs], dim=-1), r"\(1, 2, 2, 2\)"),
        (lambda inputs: inputs.flatten(1)[:, :0], r"\(1, 0\)"),
    ],
)
def test_scores_that_no_vote_can_be_read_from_are_refused_by_their_shape(model: Any, shape: str) -> None:
    """The largest of one score is always the same: its certificate would be for nothing."""
    with pytest.raises(UsageError, match=f"scores of the shape {shape} for one input"):
        certified(model, at(0.5)[None], sigma=0.1, n=100)


def test_one_row_for_a_whole_batch_is_no_vote() -> None:
    with pytest.raises(UsageError, match=r"shape \(1, 2\) for \d+ inputs"):
        certified(lambda inputs: half_space(inputs[:1]), at(0.5)[None], sigma=0.1, n=100)


def test_an_abstention_does_not_answer_yes_to_a_radius_of_nothing() -> None:
    for adaptive in (False, True):
        (one,) = certified(half_space, at(0.0001)[None], sigma=0.25, n=200, radius=0.0, adaptive=adaptive)
        assert one.status == "abstained" and one.answer != "yes" and "decide its answer" in one.sentence
    (sure,) = certified(half_space, at(0.5)[None], sigma=0.25, n=200, radius=0.0)
    assert sure.answer == "yes"


def test_noise_of_half_precision_inputs_is_added_in_single_precision() -> None:
    """Rounded to bfloat16 only afterwards: steps of 1/128 at 1, not of the noise times 1/128."""
    seen: list[Tensor] = []

    def spy(inputs: Tensor) -> Tensor:
        assert inputs.dtype == torch.bfloat16
        seen.append(inputs.float())
        return torch.stack([inputs.sum(dim=1), -inputs.sum(dim=1)], dim=1)

    centre = torch.full((1, 64), 1.0, dtype=torch.bfloat16)
    certified(spy, centre, sigma=0.3, n=160)
    exact: list[Tensor] = []

    def keep(inputs: Tensor) -> Tensor:
        exact.append(inputs)
        return torch.stack([inputs.sum(dim=1), -inputs.sum(dim=1)], dim=1)

    certified(keep, centre.float(), sigma=0.3, n=160)
    for rounded, full in zip(seen[1:], exact[1:], strict=True):
        torch.testing.assert_close(rounded, full.to(torch.bfloat16).float(), rtol=0, atol=0)


def test_a_secret_seed_is_another_every_time() -> None:
    votes = {
        tuple(certified(half_space, at(0.1)[None], sigma=0.25, n=400, seed=None)[0].votes.items())
        for _ in range(4)
    }
    assert len(votes) > 1


def test_wrong_use_is_told() -> None:
    image = at(0.5)[None]
    with pytest.raises(UsageError, match="no threat 'l3'"):
        certified(half_space, image, sigma=0.1, threat="l3")
    with pytest.raises(UsageError, match="no bound for l1 'gaussian'"):
        certified(half_space, image, sigma=0.1, threat="l1", bounds=["gaussian"])
    with pytest.raises(UsageError, match="sigma must be a finite number above 0"):
        certified(half_space, image, sigma=0.0)
    with pytest.raises(UsageError, match="floating-point"):
        certified(half_space, torch.ones(1, 2, 2, dtype=torch.long), sigma=0.1)


def test_sentences_never_state_more_than_the_radius() -> None:
    import re

    rng = np.random.default_rng(0)
    for radius in [*rng.random(200), *(rng.random(50) * 1e-4), *(rng.random(50) * 900), 0.99999, 99.996]:
        sentence = OF_NUMBERS["tensor"]["l2"].sentence("cat", float(radius), 0.001, thing="input")
        found = re.search(r"distance of ([\d.e+-]+\d);", sentence)
        assert found and float(found[1]) <= radius
        assert float(found[1]) >= radius * 0.998
    assert "no change is covered" in OF_NUMBERS["tensor"]["l2"].sentence("cat", 0.0, 0.001)
    assert "at most 1 word by" in TEXT["words"].sentence("up", 1, 0.001)
    assert "at most 2 words by" in TEXT["words"].sentence("up", 2, 0.001)
    for threat in (*TEXT.values(), *OF_NUMBERS["tensor"].values(), *OF_NUMBERS["image"].values()):
        assert threat.not_covered.startswith("Not covered: ")
