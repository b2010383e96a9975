"""The noise itself: its scale, its silence at padding, and the keys that make it repeatable."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tiny_models import TEXTS
from unfooled.models import FreshNoise, KeyedNoise, Noise, NoiseSampler, TextModel, input_key, mix
from unfooled.models.noise import _laplace_from_uniform

WIDTH = 32


def lengths_mask(*lengths: int, width: int = 0) -> Tensor:
    columns = torch.arange(max(*lengths, width))
    return (columns < torch.tensor(lengths)[:, None]).long()


def draw(sampler: NoiseSampler, mask: Tensor) -> Tensor:
    return sampler("embeddings", torch.zeros(*mask.shape, WIDTH), mask)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "fresh"])
def test_noise_has_its_distribution_and_is_zero_at_padding(kind: str, keyed: bool) -> None:
    torch.manual_seed(0)
    mask = lengths_mask(200, 150, 90)
    noise = Noise(0.3, kind=kind)
    values = draw(KeyedNoise(noise, [1, 2, 3]) if keyed else FreshNoise(noise), mask)
    assert (values[mask == 0] == 0).all()
    real = values[mask == 1].flatten()
    assert abs(float(real.mean())) < 0.02
    # E|X| and the standard deviation together tell the two families apart.
    mean_abs, deviation = (
        (0.3 * math.sqrt(2 / math.pi), 0.3) if kind == "gaussian" else (0.3, 0.3 * math.sqrt(2))
    )
    assert float(real.abs().mean()) == pytest.approx(mean_abs, rel=0.03)
    assert float(real.std()) == pytest.approx(deviation, rel=0.03)


def test_the_laplace_tail_ends_where_the_uniforms_resolution_does() -> None:
    """A uniform of exactly zero must not become an outlier."""
    extremes = _laplace_from_uniform(torch.tensor([0.0, 2.0**-24, 0.25, 0.5, 0.75, 1 - 2.0**-24]))
    assert extremes.abs().max() < 17
    assert_close(extremes[2:5], torch.tensor([-math.log(2), 0.0, math.log(2)]))


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_a_rows_noise_depends_on_its_key_alone(kind: str) -> None:
    noise = Noise(1.0, kind=kind)
    alone = draw(KeyedNoise(noise, [11]), lengths_mask(5))[0]
    among = draw(KeyedNoise(noise, [8, 11, 9]), lengths_mask(7, 5, 2))[1]
    padded = draw(KeyedNoise(noise, [11]), lengths_mask(5, width=40))[0]
    assert torch.equal(alone, among[:5])
    assert torch.equal(alone, padded[:5])
    other = draw(KeyedNoise(noise, [12]), lengths_mask(5))[0]
    assert not torch.equal(alone, other)


def test_inputs_seeds_and_draws_have_keys_of_their_own() -> None:
    keys = {input_key(seed, ids) for seed in (-1, 0, 1, 2**63 - 1) for ids in ([1], [1, 2], [2, 1], [])}
    assert len(keys) == 16
    derived = {mix(input_key(0, [1]), stream, number) for stream in range(4) for number in range(1000)}
    assert len(derived) == 4000
    assert all(0 <= key < 2**64 for key in keys | derived)


def test_the_key_of_an_input_is_the_same_on_every_machine() -> None:
    """Saved results stay valid: these values may not change between versions."""
    assert input_key(0, [101, 2054, 102]) == input_key(0, (101, 2054, 102))
    assert mix(0, 0) == 16294208416658607535  # the first output of splitmix64 from state 0


def test_logits_of_an_input_do_not_depend_on_the_batch(any_classifier: TextModel) -> None:
    noise = Noise(0.8, ("embeddings", 1))
    encoded = any_classifier.encode(TEXTS)
    keys = [input_key(3, item.ids) for item in encoded]

    def logits(order: list[int]) -> Tensor:
        batch = any_classifier.batch([encoded[index] for index in order])
        sampler = KeyedNoise(noise, [keys[index] for index in order])
        with torch.no_grad():
            return any_classifier.forward(batch, sampler=sampler, sites=noise.sites).logits

    everything = list(range(len(TEXTS)))
    together = logits(everything)
    assert_close(torch.cat([logits([index]) for index in everything]), together, atol=1e-5, rtol=1e-4)
    assert_close(logits(everything[::-1]).flip(0), together, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("scale", [-0.1, math.nan, math.inf])
def test_a_scale_that_is_no_scale_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="noise scale"):
        Noise(scale)


def test_an_unknown_kind_of_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="'gaussian' or 'laplace'"):
        Noise(0.1, kind="cauchy")  # type: ignore[arg-type]
