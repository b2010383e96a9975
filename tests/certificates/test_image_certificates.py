"""Certificates of images on a linear classifier, whose true radius is known; and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unfooled.api.certify import certify
from unfooled.certificates.sampling import Sampling
from unfooled.data.inputs import Inputs
from unfooled.errors import UsageError
from unfooled.models import ImageModel
from unfooled.models.images.mask import make_mask
from unfooled.predictors import Ars, Classifier, Predictor, StaticMaskVote, Vote
from unfooled.records.certificate import Certificate

SHAPE = (1, 6, 6)
SIGNS = torch.where(torch.arange(36) % 2 == 0, 1.0, -1.0)
SIGMA = 0.5


class Linear(nn.Module):
    """Class 1 where the pixels, weighted by ±1, sum to more than 0."""

    def forward(self, values: Tensor) -> Tensor:
        score = (values.flatten(1) * SIGNS).sum(dim=1)
        return torch.stack([-score, score], dim=1)


class Upper(nn.Module):
    """Masks that look at the image: open in the upper half, closed where the first query is dark below."""

    adaptive = True

    def forward(self, look: Tensor) -> Tensor:
        mask = torch.sigmoid(4 * look - 1).clamp_min(1e-3)
        mask[:, :, :3] = 1.0
        return mask

    def share(self) -> None:
        return None


class Same(Upper):
    """The same mask for all images."""

    adaptive = False

    def forward(self, look: Tensor) -> Tensor:
        return super().forward(torch.zeros_like(look))


def image(score: float) -> Tensor:
    """Grey, moved so that the true ℓ∞ distance to the boundary is ``score``."""
    return (0.5 + score * SIGNS).reshape(SHAPE)


PREDICTORS: dict[str, tuple[Predictor, nn.Module | None]] = {
    "vanilla": (Vote(sigma=SIGMA, noise_layers=("embeddings",), masking="none", masked_tokens=0), None),
    "static mask": (StaticMaskVote(sigma=SIGMA), Same()),
    "ars": (Ars(sigma=SIGMA), Upper()),
}


def classifier(name: str, network: nn.Module | None = None) -> Classifier:
    predictor, mask = PREDICTORS[name]
    model = ImageModel(network or Linear(), SHAPE)
    model.module.mask = mask
    return Classifier(model, predictor, labels=["0", "1"])


def certified(own: Classifier, images: Any, threat: str = "linf", **given: Any) -> list[Certificate]:
    return list(certify(own, Inputs(tensors=images), threat=threat, sampling=Sampling(n=4000), **given))


@pytest.mark.parametrize("name", PREDICTORS)
def test_certified_linf_radius_never_exceeds_the_true_one(name: str) -> None:
    own, scores = classifier(name), (0.02, 0.1, 0.15, -0.1)
    found = certified(own, torch.stack([image(score) for score in scores]))
    for one, score in zip(found, scores, strict=True):
        assert one.radius <= abs(score)
        assert one.status == "abstained" or one.label == ("1" if score > 0 else "0")
    assert found[1].status == "certified"
    if name == "vanilla":  # attained up to sampling: all weights are alike
        assert found[1].radius > 0.09


def test_certificate_of_ars_holds_at_the_worst_point_of_its_ball() -> None:
    """ARS's mask depends on the image, so its true radius has no formula: ask where it is nearest to fall."""
    own = classifier("ars")
    (one,) = certified(own, image(0.1)[None])
    assert one.radius > 0.02
    sampler = own.predictor.sampler(  # type: ignore[attr-defined]
        own.model, own.model.read([image(0.1 - one.radius)]), seed=1, purpose="estimate"
    )
    against, kept = sampler.counts([(0, 0, 4000)])[0].tolist()
    assert kept > against


@pytest.mark.parametrize("threat", ["l2", "l1"])
@pytest.mark.parametrize("name", ["static mask", "ars"])
def test_less_noise_behind_a_mask_is_refused_for_other_distances(name: str, threat: str) -> None:
    with pytest.raises(UsageError, match="less noise behind its mask"):
        certified(classifier(name), image(0.1)[None], threat)


def test_radii_of_images_are_those_of_tensors() -> None:
    one, two = image(0.1), image(0.15)
    for threat in ("l2", "linf"):
        ours = certified(classifier("vanilla"), torch.stack([one, two]), threat)
        assert 0 < ours[0].radius < ours[1].radius
        assert "image" in ours[0].sentence and "(pixels from 0 to 1)" in ours[0].sentence
    l2, linf = (certified(classifier("vanilla"), one[None], threat)[0].radius for threat in ("l2", "linf"))
    assert linf == pytest.approx(l2 / 6, rel=1e-6)


class SeesOthers(nn.Module):
    """Rows that see each other: batch statistics, in evaluation mode too."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(1, track_running_stats=False, affine=False)

    def forward(self, values: Tensor) -> Tensor:
        return Linear()(values - values.mean(dim=0, keepdim=True))


@pytest.mark.parametrize("name", PREDICTORS)
def test_network_whose_rows_interact_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="another answer in a batch than alone"):
        certified(classifier(name, SeesOthers()), image(0.1)[None])


def test_mask_network_whose_rows_interact_is_refused() -> None:
    class Mixed(Upper):
        def forward(self, look: Tensor) -> Tensor:
            return super().forward(look.mean(dim=0, keepdim=True).expand_as(look))

    own = classifier("ars")
    own.model.module.mask = Mixed()
    with pytest.raises(UsageError, match="another answer in a batch than alone"):
        certified(own, image(0.1)[None])


def test_batch_norm_networks_are_certified_with_their_running_statistics() -> None:
    torch.manual_seed(0)
    model = ImageModel(nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(36, 2)), SHAPE)
    model.module.mask = make_mask("unet", {"width": 2, "levels": 2}, SHAPE)
    model.module.train()  # as a training leaves it
    own = Classifier(model, Ars(sigma=SIGMA), labels=["0", "1"])
    assert certified(own, image(0.1)[None])[0].status in ("certified", "abstained")
