"""Training on noisy embeddings, watched from inside: how much noise, where, and what the loss is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from tiny_models import TEXTS, tiny_classifier
from tiny_training import FULL, LABELS, loss_of
from unfooled import assets
from unfooled.defences import CertifiedRsmi, NoiseAugment, Stability, Standard, Step, make_defence
from unfooled.defences.parts.scale import default_sigma
from unfooled.errors import UsageError
from unfooled.models import Batch, FreshNoise, TextModel
from unfooled.predictors import Vote


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The noise of every draw."""
    seen: list[Tensor] = []
    own = FreshNoise.__call__

    def spy(self: FreshNoise, site: Any, hidden: Tensor, mask: Tensor) -> Tensor:
        seen.append(own(self, site, hidden, mask).detach())
        return seen[-1]

    monkeypatch.setattr(FreshNoise, "__call__", spy)
    return seen


def resolved(name: str, classifier: TextModel, **settings: Any) -> Any:
    return make_defence(name, settings).resolved(classifier)


def logits_of(classifier: TextModel, batch: Batch, embeddings: Tensor) -> Tensor:
    """A plain call of the model, past everything that unfooled adds."""
    output = classifier.module(
        inputs_embeds=embeddings, attention_mask=batch.mask, token_type_ids=batch.type_ids
    )
    logits: Tensor = output.logits
    return logits


def test_noise_augmentation_is_cross_entropy_on_the_noisy_embeddings(
    classifier: TextModel, batch: Batch, drawn: list[Tensor]
) -> None:
    loss = loss_of(resolved("noise-augment", classifier, sigma=0.7), classifier, batch, FULL)
    logits = logits_of(classifier, batch, classifier.start(batch) + drawn[0])
    expected = -logits.log_softmax(dim=-1)[torch.arange(len(batch)), batch.labels].mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    clean = loss_of(Standard(), classifier, batch, FULL)
    assert loss.item() != pytest.approx(clean.item(), rel=1e-3)


@pytest.mark.parametrize("gamma", [0.5, 3.0])
def test_stability_loss_is_the_papers_with_constant_targets(
    classifier: TextModel, batch: Batch, drawn: list[Tensor], gamma: float
) -> None:
    assert batch.labels is not None
    table = classifier.architecture.embeddings.weight
    loss = loss_of(resolved("stability", classifier, sigma=0.7, gamma=gamma), classifier, batch, FULL)
    (gradient,) = torch.autograd.grad(loss, table)

    def by_hand(*, constant: bool) -> tuple[Tensor, Tensor]:
        clean = classifier.start(batch)
        answer = logits_of(classifier, batch, clean)
        noisy = logits_of(classifier, batch, clean + drawn[0]).log_softmax(dim=-1)
        target = (answer.detach() if constant else answer).softmax(dim=-1)
        total = F.cross_entropy(answer, batch.labels) - gamma * (target * noisy).sum(dim=-1).mean()
        return total, torch.autograd.grad(total, table)[0]

    expected, through_the_noisy_pass = by_hand(constant=True)
    _, through_both = by_hand(constant=False)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    assert_close(gradient, through_the_noisy_pass, atol=1e-5, rtol=1e-3)
    assert (gradient - through_both).abs().max() > 1e-3


def test_stability_without_weight_is_plain_fine_tuning(classifier: TextModel, batch: Batch) -> None:
    """Dropout on: the same draws, the same loss, the same gradient."""
    classifier.module.train()
    gradients = []
    for defence in (resolved("stability", classifier, gamma=0), Standard()):
        torch.manual_seed(3)
        loss = loss_of(defence, classifier, batch, FULL)
        gradients.append((loss.item(), torch.autograd.grad(loss, classifier.architecture.embeddings.weight)))
    classifier.module.eval()
    assert gradients[0][0] == gradients[1][0]
    assert torch.equal(gradients[0][1][0], gradients[1][1][0])


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("name", ["noise-augment", "stability"])
def test_noise_is_on_every_token_but_padding_and_fresh_for_each_example_and_step(
    classifier: TextModel, drawn: list[Tensor], name: str, kind: str
) -> None:
    defence = resolved(name, classifier, sigma=0.5, kind=kind)
    batch = classifier.batch(classifier.encode([TEXTS[2], TEXTS[2], "dull"] * 20), LABELS[:3] * 20)
    for _ in range(2):
        loss_of(defence, classifier, batch, FULL)
    first, second = drawn
    padding = batch.mask == 0
    assert padding.any()
    assert (first[padding] == 0).all()
    assert (first[~padding] != 0).all(dim=-1).all(), "special tokens too"
    assert not torch.equal(first, second)
    assert not torch.equal(first[0], first[1])
    # E|x| is σ·√(2/π) for gaussian noise and λ for laplace.
    mean = 0.5 * (2 / torch.pi) ** 0.5 if kind == "gaussian" else 0.5
    assert float(first[~padding].abs().mean()) == pytest.approx(mean, rel=0.03)


def test_training_noise_goes_where_the_deployed_vote_puts_it(classifier: TextModel) -> None:
    """The vote and the certificate noise every token of the text, [CLS] and [SEP] included, at one site."""
    for name in ("noise-augment", "stability"):
        for kind in ("gaussian", "laplace"):
            predictor = resolved(name, classifier, sigma=0.5, kind=kind, votes=9).predictor(classifier)
            assert isinstance(predictor, Vote)
            assert predictor.noise == resolved(name, classifier, sigma=0.5, kind=kind).noise(FULL).noise
            assert (predictor.masking, predictor.votes) == ("none", 9)


@pytest.mark.parametrize(("done", "share"), [(0.0, 0.0), (0.1, 0.25), (0.4, 1.0), (1.0, 1.0)])
def test_noise_rises_over_the_warmup(classifier: TextModel, done: float, share: float) -> None:
    for name in ("noise-augment", "stability"):
        noise = resolved(name, classifier, sigma=0.8, warmup=0.4).noise(Step(done=done)).noise
        assert noise.scale == pytest.approx(0.8 * share)


def test_only_stability_starts_with_full_noise() -> None:
    assert (NoiseAugment().warmup, Stability().warmup, CertifiedRsmi().warmup) == (0.5, 0.0, 0.5)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("noise-augment", {"sigma": -1}, "sigma must be at least 0"),
        ("noise-augment", {"kind": "uniform"}, "kind must be one of 'gaussian', 'laplace'"),
        ("noise-augment", {"warmup": 2}, "warmup must be at most 1"),
        ("stability", {"gamma": -0.1}, "gamma must be at least 0"),
        ("stability", {"votes": 0}, "votes must be at least 1"),
        ("certified-rsmi", {"sigma": 0}, "sigma must be above 0"),
        ("certified-rsmi", {"sigma": 0.3, "sigma_1": 0.2}, r"sigma_1 is 0\.2 but must be above sigma"),
        ("certified-rsmi", {"masked_tokens": 0.5}, "masked_tokens must be a whole number"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_by_name_before_any_work(
    classifier: TextModel, name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_defence(name, settings).resolved(classifier)


@pytest.mark.parametrize("name", ["noise-augment", "stability", "certified-rsmi"])
def test_sigma_fits_the_encoders_embeddings_unless_it_is_given(name: str) -> None:
    classifier = tiny_classifier("bert")
    sigma = resolved(name, classifier).sigma
    # Coordinates of 0.25, 32 of them: random words are 2 apart.
    assert sigma == pytest.approx(0.16 * 2, rel=0.05)
    with torch.no_grad():
        classifier.architecture.embeddings.weight.mul_(10)
    assert resolved(name, classifier).sigma == pytest.approx(10 * sigma, rel=0.05)
    assert resolved(name, classifier, sigma=0.07).sigma == 0.07


def test_laplace_noise_has_the_same_variance_by_default(classifier: TextModel) -> None:
    gaussian, laplace = (resolved("noise-augment", classifier, kind=kind) for kind in ("gaussian", "laplace"))
    assert 2 * laplace.sigma**2 == pytest.approx(gaussian.sigma**2, rel=0.1)
    assert replace(laplace, kind="gaussian").sigma == laplace.sigma


@pytest.mark.network
def test_sigma_of_the_shipped_encoder() -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = str(assets.path("minilm"))
    model = AutoModelForSequenceClassification.from_pretrained(folder, use_safetensors=True)
    classifier = TextModel(model, AutoTokenizer.from_pretrained(folder))
    assert (default_sigma(classifier), default_sigma(classifier, "laplace")) == (0.25, 0.17)
