"""ARS and the static mask: an unbiased average of the stated variance, a budget that recomposes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from unfooled.errors import UsageError
from unfooled.models import ImageModel
from unfooled.models.images.mask import SMALLEST, make_mask
from unfooled.predictors import Ars, Classifier, StaticMaskVote
from unfooled.predictors.smoothing.masked_pixels import averaged_queries, behind, masked_query
from unfooled.statistics.noise_budget import composed_sigma

SHAPE = (2, 4, 4)


class Fixed(nn.Module):
    """A mask that is known: 0.9 in the upper half, 0.2 in the lower."""

    adaptive = True

    def forward(self, look: Tensor) -> Tensor:
        mask = torch.full((len(look), 1, *SHAPE[1:]), 0.9)
        mask[:, :, 2:] = 0.2
        return mask

    def share(self) -> None:
        return None


def model(mask: nn.Module | None = None) -> ImageModel:
    torch.manual_seed(0)
    made = ImageModel(nn.Sequential(nn.Flatten(), nn.Linear(math.prod(SHAPE), 3)), SHAPE)
    made.module.mask = mask
    return made


def test_average_is_unbiased_with_the_stated_variance() -> None:
    own, draws = model(Fixed()), 40_000
    sigma_1, sigma_2 = 0.6, 0.4
    clean = torch.rand(1, *SHAPE, generator=torch.Generator().manual_seed(1))
    noise = torch.randn(draws, 2, *SHAPE, generator=torch.Generator().manual_seed(2))
    found = averaged_queries(
        own, clean.expand(draws, -1, -1, -1), clean + sigma_1 * noise[:, 0], noise[:, 1], (sigma_1, sigma_2)
    )
    mask = Fixed()(clean)[0]
    v = float(mask.square().mean()) * sigma_2**2  # (‖w‖²/d)·σ₂²
    expected = (sigma_1**2 * v / (sigma_1**2 * mask.square() + v)).expand(SHAPE)
    assert float((found.mean(dim=0) - clean[0]).abs().max()) < 5 * math.sqrt(float(expected.max()) / draws)
    assert torch.allclose(found.var(dim=0), expected, rtol=0.05)


def test_noise_behind_a_mask_is_its_share_and_never_less() -> None:
    mask = make_mask("unet", {"width": 2, "levels": 2}, SHAPE)(torch.randn(50, *SHAPE)).detach()
    exact = 0.5 * mask.double().square().mean(dim=(1, 2, 3)).sqrt()
    found = behind(mask, 0.5).flatten().double()
    assert bool((found >= exact).all()) and torch.allclose(found, exact, rtol=1e-5)
    assert float(mask.min()) >= SMALLEST and float(mask.max()) <= 1


def test_static_mask_has_one_query_with_the_noise_of_its_mask() -> None:
    own, draws = model(Fixed()), 20_000
    clean = torch.rand(1, *SHAPE).expand(draws, -1, -1, -1)
    noise = torch.randn(draws, *SHAPE, generator=torch.Generator().manual_seed(2))
    found = masked_query(own, clean, noise, 0.5)
    mask = Fixed()(clean[:1])[0]
    assert torch.allclose(found.mean(dim=0), mask * clean[0], atol=0.02)
    spread = 0.5 * float(mask.square().mean().sqrt())
    assert torch.allclose(found.std(dim=0), torch.tensor(spread), rtol=0.04)


def classified(own: ImageModel, predictor: Ars | StaticMaskVote, draws: int) -> tuple[Tensor, Tensor]:
    """One image, and what the network sees of it in ``draws`` draws of the predictor's own sampler."""
    seen: list[Tensor] = []
    own.module.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach().clone()))
    encoded = own.read(torch.rand(1, *SHAPE, generator=torch.Generator().manual_seed(1)))
    predictor.sampler(own, encoded, seed=0, purpose="select").counts([(0, 0, draws)])
    with torch.no_grad():
        clean = own.start(own.batch(encoded))[0]
    return clean, torch.cat(seen)


def test_what_ars_classifies_has_the_stated_mean_and_variance() -> None:
    """The sampler draws as much noise as its radius assumes, and the two queries are independent."""
    predictor, draws = Ars(sigma=0.5, sigma_1=0.8), 20_000
    clean, found = classified(model(Fixed()), predictor, draws)
    sigma_1, sigma_2 = predictor.steps(model(Fixed()))
    mask = Fixed()(clean[None])[0]
    v = float(mask.square().mean()) * sigma_2**2
    expected = (sigma_1**2 * v / (sigma_1**2 * mask.square() + v)).expand(SHAPE)
    assert len(found) == draws
    assert float((found.mean(dim=0) - clean).abs().max()) < 5 * math.sqrt(float(expected.max()) / draws)
    assert torch.allclose(found.var(dim=0), expected, rtol=0.06)


def test_a_static_mask_sees_nothing_of_the_image() -> None:
    """Also where its network would answer to an image: all see the same mask, and its noise."""

    class Looking(Fixed):
        adaptive = False

        def forward(self, look: Tensor) -> Tensor:
            return torch.sigmoid(4 * look.mean(dim=1, keepdim=True))

    clean, found = classified(model(Looking()), StaticMaskVote(sigma=0.5), 20_000)
    assert torch.allclose(found.mean(dim=0), 0.5 * clean, atol=0.012)
    assert torch.allclose(found.std(dim=0), torch.tensor(0.25), rtol=0.04)


@pytest.mark.parametrize("sigma_1", [None, 0.26, 0.3, 5.0])
def test_two_queries_compose_to_sigma(sigma_1: float | None) -> None:
    steps = Ars(sigma=0.25, sigma_1=sigma_1).steps(model(Fixed()))
    assert steps[0] == pytest.approx(0.25 * math.sqrt(2) if sigma_1 is None else sigma_1)
    assert float(composed_sigma(steps)) == pytest.approx(0.25, rel=1e-9)


def test_learned_share_of_the_budget_recomposes_too() -> None:
    own = model(make_mask("unet", {"width": 2, "learned_share": True}, SHAPE))
    assert Ars(sigma=0.25).steps(own)[0] == pytest.approx(0.25 * math.sqrt(2))
    with torch.no_grad():
        own.module.mask.share_logit.fill_(1.5)
    steps = Ars(sigma=0.25).steps(own)
    assert steps[0] < 0.25 * math.sqrt(2) and float(composed_sigma(steps)) == pytest.approx(0.25, rel=1e-6)


def test_mask_is_a_function_of_the_first_query_alone() -> None:
    """Whatever the image is, the same first query gives the same mask, and the same noise to the second."""
    seen: list[Tensor] = []

    class Spy(Fixed):
        def forward(self, look: Tensor) -> Tensor:
            seen.append(look.clone())
            return torch.sigmoid(look.mean(dim=1, keepdim=True))

    first, noise = torch.randn(3, *SHAPE), torch.zeros(3, *SHAPE)
    averaged_queries(model(Spy()), torch.rand(3, *SHAPE), first, noise, (0.5, 0.5))
    averaged_queries(model(Spy()), torch.rand(3, *SHAPE), first, noise, (0.5, 0.5))
    assert all(torch.equal(look, first) for look in seen)


def test_votes_do_not_depend_on_the_batch() -> None:
    own = model(make_mask("unet", {"width": 2, "levels": 1}, SHAPE))
    classifier = Classifier(own, Ars(sigma=0.5, votes=40), labels=["a", "b", "c"])
    images = torch.randint(0, 256, (6, 4, 4, 2), dtype=torch.uint8)
    together = classifier.predict(images)
    assert [one.votes for one in together] == [classifier.predict([image])[0].votes for image in images]
    assert together[0].forwards == 80


def test_predictors_without_their_mask_are_refused() -> None:
    with pytest.raises(UsageError, match="--defence ars trains"):
        Classifier(model(), Ars(), labels=["a", "b", "c"])
    with pytest.raises(UsageError, match="--defence static-mask trains"):
        Classifier(model(Fixed()), StaticMaskVote(), labels=["a", "b", "c"])
    with pytest.raises(UsageError, match=r"sigma_1 is 0\.2 but must be above sigma"):
        Classifier(model(Fixed()), Ars(sigma=0.25, sigma_1=0.2), labels=["a", "b", "c"])
