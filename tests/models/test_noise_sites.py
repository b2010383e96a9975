"""Noise at every site of every family: added where it is asked for, and nowhere else."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tiny_models import TEXTS, tiny_classifier
from unfooled.errors import UsageError
from unfooled.models import Batch, FreshNoise, KeyedNoise, Noise, Site, TextModel

SITES: tuple[Site, ...] = ("embeddings", 0, 1, 2)


@pytest.fixture
def batch(any_classifier: TextModel) -> Batch:
    return any_classifier.batch(any_classifier.encode(TEXTS[:3]))


def forward(classifier: TextModel, batch: Batch, noise: Noise, **options: bool) -> tuple[Tensor, ...]:
    with torch.no_grad():
        sampler = KeyedNoise(noise, range(len(batch)))
        result = classifier.forward(batch, sampler=sampler, sites=noise.sites, hidden_states=True, **options)
    return result.logits, *result.hidden


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_noise_of_scale_zero_changes_nothing_and_any_other_does(
    any_classifier: TextModel, batch: Batch, site: Site, kind: str
) -> None:
    with torch.no_grad():
        clean = any_classifier.forward(batch).logits
    silent = forward(any_classifier, batch, Noise(0.0, (site,), kind))[0]
    noisy = forward(any_classifier, batch, Noise(0.5, (site,), kind))[0]
    assert_close(silent, clean)
    assert ((noisy - clean).abs().amax(dim=1) > 1e-4).all(), "every row must feel the noise"


@pytest.mark.parametrize("site", SITES)
def test_the_noise_is_added_at_its_site_and_not_at_padding(
    any_classifier: TextModel, batch: Batch, site: Site
) -> None:
    _, *clean = forward(any_classifier, batch, Noise(0.0, (site,)))
    _, *noisy = forward(any_classifier, batch, Noise(0.5, (site,)))
    number = SITES.index(site)
    for before in range(number):
        assert torch.equal(noisy[before], clean[before])
    added = noisy[number] - clean[number]
    sampler = KeyedNoise(Noise(0.5, (site,)), range(len(batch)))
    assert_close(added, sampler(site, clean[number], batch.mask), atol=1e-5, rtol=1e-4)
    assert (added[batch.mask == 0] == 0).all()
    assert (added[batch.mask == 1] != 0).float().mean() > 0.99


def test_every_site_draws_its_own_noise(bert: TextModel) -> None:
    batch = bert.batch(bert.encode(["a bold film"]))
    sampler = KeyedNoise(Noise(1.0), [7])
    hidden = torch.zeros(*batch.ids.shape, 32)
    draws = [sampler(site, hidden, batch.mask) for site in SITES]
    for first in range(len(draws)):
        for second in range(first):
            assert (
                abs(
                    float(
                        torch.corrcoef(torch.stack([draws[first].flatten(), draws[second].flatten()]))[0, 1]
                    )
                )
                < 0.3
            )


@pytest.mark.parametrize("resized", [False, True], ids=["own tables", "one shared table"])
def test_t5s_decoder_sees_the_noisy_embeddings(resized: bool) -> None:
    """The decoder reads the text too: noise that it did not see would leave a clean way around."""
    t5 = tiny_classifier("t5")
    if resized:
        # Resizing leaves encoder and decoder with one and the same embedding module.
        t5.module.resize_token_embeddings(len(t5.tokenizer) + 8, mean_resizing=False)
        t5 = TextModel(t5.module, t5.tokenizer)
        assert t5.architecture.decoder_embeddings is t5.architecture.embeddings
    batch = t5.batch(t5.encode(TEXTS[:3]))
    seen: dict[str, Tensor] = {}
    decoder = t5.module.get_decoder()
    handle = decoder.block[0].register_forward_pre_hook(lambda module, args: seen.update(decoder=args[0]))
    try:
        _, entered, *_ = forward(t5, batch, Noise(0.5, ("embeddings",)))
    finally:
        handle.remove()
    start = decoder.get_input_embeddings()(torch.tensor([t5.module.config.decoder_start_token_id]))
    assert_close(seen["decoder"][:, 1:], entered[:, :-1])
    assert_close(seen["decoder"][:, 0], start.expand(3, -1))


def test_fresh_noise_differs_from_pass_to_pass(any_classifier: TextModel, batch: Batch) -> None:
    sampler = FreshNoise(Noise(0.5, (1,)))
    with torch.no_grad():
        first, second = (any_classifier.forward(batch, sampler=sampler, sites=(1,)).logits for _ in range(2))
    assert not torch.allclose(first, second, atol=1e-4)


@pytest.mark.parametrize("site", [3, 99, -1, "embedings"])
def test_a_site_the_encoder_does_not_have_is_refused_by_name(bert: TextModel, site: Site) -> None:
    with pytest.raises(UsageError, match=r"noise_layers: block .* does not exist; this encoder has 3 blocks"):
        bert.check_sites((0, site))


def test_sites_the_encoder_has_are_accepted(any_classifier: TextModel) -> None:
    any_classifier.check_sites(("embeddings", 0, 1, 2))
